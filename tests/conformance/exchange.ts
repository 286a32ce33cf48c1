import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf';

/** Maximum length of a line; characters. */
const longestLine = 600;

/** A readable log of messages and of the kit's actions. */
export class Exchange {
  readonly lines: string[] = [];
  readonly #startedMs = performance.now();

  /** Adds an action or observation of the kit. */
  note(text: string): void {
    this.#add('·', text);
  }

  /** Adds a message: `→` from the headset, `←` from the cloud. */
  message<D extends DescMessage>(direction: '→' | '←', schema: D, message: MessageShape<D>): void {
    this.#add(direction, describe(schema, message));
  }

  #add(direction: string, text: string): void {
    const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(3).padStart(8);
    this.lines.push(
      `${seconds} ${direction} ${text.length > longestLine ? `${text.slice(0, longestLine)} …` : text}`,
    );
  }
}

/** `report {"reportId":"12",…}`: the body's name, then its value as protobuf's JSON. */
function describe<D extends DescMessage>(schema: D, message: MessageShape<D>): string {
  const [entry] = Object.entries(toJson(schema, message) as Record<string, unknown>);
  return entry ? `${entry[0]} ${JSON.stringify(entry[1])}` : '(unknown message)';
}
