# SPDX-License-Identifier: GPL-2.0-only
# Lock the kernel down, then make it take only signed modules. Neither can be
# undone, so this runs last. Sourced after tool.sh and refused.sh.

# unfit NAME WORDS: succeeds if the kernel refuses the unchanged module too, with
# these words in its log.
unfit() {
	cp "$file" "/refused/$1.ko"
	echo -n "$2" >"/refused/$1.txt"
	check "refused: $1" refused "$1"
}

mount -t securityfs securityfs /sys/kernel/security
check "signed: locked down" eval "echo integrity >/sys/kernel/security/lockdown"
unfit lockdown "Lockdown: insmod: unsigned module loading is restricted"
check "signed: the tool refuses" denied "the kernel is locked down (integrity)" \
	load "$TOOL_SPEEDUP" --module "$file"
check "signed: enforced" eval "echo 1 >/sys/module/module/parameters/sig_enforce"
unfit sig_enforce "Loading of unsigned module is rejected"
echo -n "Loading of module with unavailable key is rejected" >/refused/signed.txt
check "refused: signed with a key that is not enrolled" refused signed
check "signed: the distribution's own module" insmod "/modules/$SPARE_MODULE.ko"
