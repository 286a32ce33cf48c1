/** True in `make test-long`: tests that take many minutes run. */
export const isLong = Boolean(process.env['TEST_LONG']);

/** `it`, skipped in `make test`. Add `with TEST_LONG=1` to the title. */
export const itIfLong: typeof it = isLong ? it : it.skip;
