# SPDX-License-Identifier: GPL-2.0-only
# Run `mmbatch live` itself in a guest, where it can do no harm. Sourced after
# start.sh. Settings: TOOL_SPEEDUP; TOOL_FUNCTION: a function that it replaces;
# TOOL_PARAMETER; TOOL_VALUE and TOOL_OTHER: values that the parameter accepts;
# TOOL_WRONG: a value that it refuses; TOOL_REFUSED: a module of the speed-up that
# does not fit this kernel; RIVAL: a livepatch that replaces the same function.

parameter=$TOOL_SPEEDUP.$TOOL_PARAMETER
shown=/sys/module/$module/parameters/$parameter
check "tool: status before" says "$TOOL_FUNCTION(): the kernel's own" status
check "tool: nothing is loaded" says "nothing is loaded" status
check "tool: this kernel can take it" says "$TOOL_SPEEDUP can run on " status "$TOOL_SPEEDUP"
check "tool: a module that does not fit" denied "$(cat "/refused/$TOOL_REFUSED.txt")" \
	load "$TOOL_SPEEDUP" --module "/refused/$TOOL_REFUSED.ko"
check "tool: load" says "$TOOL_FUNCTION(): $module, in use everywhere" \
	load "$TOOL_SPEEDUP" --module "$file" --set "$parameter=$TOOL_VALUE"
check "tool: it has its parameter" grep -q "$TOOL_VALUE" "$shown"
check "tool: load twice" says "loaded already" load "$TOOL_SPEEDUP" --module "$file"
check "tool: another value for what is loaded" says "it has $parameter=$TOOL_OTHER now" \
	load "$TOOL_SPEEDUP" --module "$file" --set "$parameter=$TOOL_OTHER"
check "tool: it has that too" grep -q "$TOOL_OTHER" "$shown"
check "tool: a value that it does not take" denied "does not take '$TOOL_WRONG'" \
	load "$TOOL_SPEEDUP" --module "$file" --set "$parameter=$TOOL_WRONG"
check "tool: status" says "$TOOL_FUNCTION(): $module, in use everywhere" status
check "tool: status counts" says "in use everywhere 0 calls, 0 pages" status "$TOOL_SPEEDUP"
check "tool: status shows the method" says "$TOOL_SPEEDUP: method $TOOL_OTHER" status
check "tool: unload" says "$TOOL_FUNCTION(): the kernel's own" unload
check "tool: the module is gone" test ! -e "/sys/module/$module"
check "tool: unload twice" says "is not loaded" unload
check "tool: another livepatch on $TOOL_FUNCTION()" patch_in "$RIVAL"
check "tool: it is in the way" denied \
	"$TOOL_FUNCTION() is replaced already, by the livepatch mmbatch_$RIVAL" \
	load "$TOOL_SPEEDUP" --module "$file"
check "tool: the other goes" patch_out "$RIVAL"

# What devices would gain, of which the speed-up's own functions make some.
optional "${TOOL_SPEEDUP}_prepare" tool
check "tool: plan" says "To gain: " plan "$TOOL_SPEEDUP"
optional "${TOOL_SPEEDUP}_finish" tool
