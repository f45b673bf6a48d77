// Made up for tests: the hooks find their places, the code means nothing.
void __meminit __init_single_page(struct page *page, int toy);
