# Runs one program for as long as somebody holds the other end of stdin.
#
#   sh -c "$script" NAME FOLDER PROGRAM ARGUMENT...
#
# A line on stdin is the name of a signal for the program. The end of stdin means that whoever started it is gone, in
# whatever way: the program is killed, and FOLDER goes with it unless it holds a file named "keep". Exits as the program does.
folder=$1
shift
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{
    while read -r signal <&3; do
        kill -s "$signal" "$program"
    done
    # From here on the main shell's TERM must not stop this one: there is still a folder to remove.
    trap '' TERM
    kill -s KILL "$program"
    [ -e "$folder/keep" ] || rm -rf "$folder"
} 2>/dev/null &
watch=$!
wait "$program"
code=$?
kill -s TERM "$watch" 2>/dev/null
wait "$watch" 2>/dev/null
exit "$code"
