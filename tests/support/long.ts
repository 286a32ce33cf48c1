/** True in `make test-long`: tests that take many minutes run. */
export const isLong = Boolean(process.env['TEST_LONG']);
