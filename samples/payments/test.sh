#!/bin/sh
# test.sh <sample_payments>: workers are killed again and again, and each payment is made once.
set -eu
sample=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
store="sqlite:$folder/payments.db?sync=off"

"$sample" setup "$store" "$folder/messages.jsonl"
for pause in 0.03 0.05 0.07 0.09 0.11 0.13 0.15 0.17; do
  "$sample" work "$store" "$folder/messages.jsonl" &
  first=$!
  "$sample" work "$store" "$folder/messages.jsonl" &
  second=$!
  sleep $pause
  kill -9 $first $second 2> /dev/null || true
  wait $first $second || true
done
"$sample" work "$store" "$folder/messages.jsonl"
"$sample" audit "$store" "$folder/messages.jsonl"
