#!/bin/sh
# test.sh <sample_payments>: workers are killed again and again, and each payment is made once.
set -eu
sample=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
store="sqlite:$folder/payments.db?sync=off"

"$sample" setup "$store" "$folder/messages.jsonl"
for payments in 5 10 15 20 25 30 35 40; do
  : > "$folder/handled"
  "$sample" work "$store" "$folder/messages.jsonl" >> "$folder/handled" &
  first=$!
  "$sample" work "$store" "$folder/messages.jsonl" >> "$folder/handled" &
  second=$!
  # Not after a time: a slow machine would kill them before their first payment.
  while [ "$(wc -l < "$folder/handled")" -lt $payments ] && kill -0 $first $second 2> /dev/null; do
    sleep 0.01
  done
  kill -9 $first $second 2> /dev/null || true
  wait $first $second || true
done
"$sample" work "$store" "$folder/messages.jsonl"
"$sample" audit "$store" "$folder/messages.jsonl"
