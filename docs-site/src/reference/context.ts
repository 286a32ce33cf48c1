import type { relations } from './related';
import type { ApiInput } from './types';

/** Data for all components of a reference; passed as a prop. */
export interface View {
  readonly input: ApiInput;
  readonly related: ReturnType<typeof relations>;
  /** Converts Markdown to safe HTML. Inline code that names an operation or a setting becomes a link. */
  readonly html: (text: string) => string;
  readonly addressOf: (name: string) => string | undefined;
}
