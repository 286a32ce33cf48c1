/** A command of the test run. */
export interface Step {
  readonly name: string;
  /** Program and arguments. */
  readonly command: readonly [string, ...string[]];
  /** Patterns of the test files of a Jest run; a repeat replaces them by file names. */
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /**
   * How the tests of the step are counted: by Jest's report, by a last line `N passed, N failed, N skipped`, or
   * (default) the step is one test that passes if the command exits with 0.
   */
  readonly counts?: 'jest' | 'line';
  /** The step starts after the step of this name has ended. */
  readonly after?: string;
  /** No other step runs at the same time. */
  readonly alone?: true;
  /** `make test` leaves the step out unless one of these paths changed recently; `make test-long` always runs it. */
  readonly ifChanged?: readonly string[];
  /** `make test` leaves the step out unless the real stack is demanded, as in CI; `make test-long` always runs it. */
  readonly ifDemanded?: true;
}

/** Numbers of tests. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A test that failed, with the first line of its message. */
export interface Failure {
  readonly name: string;
  readonly reason: string;
  /** Test file, if the step is a Jest run. */
  readonly file?: string;
}

/** Results of a step. */
export interface Outcome {
  readonly step: Step;
  readonly tally: Tally;
  readonly seconds: number;
  readonly failures: readonly Failure[];
  /** Tests that failed and then passed when they ran alone. */
  readonly flaky: readonly Failure[];
}
