import { type DeviceContent, type DeviceState, factoryContent } from './content.ts';
import type { LineFile } from './line-file.ts';
import type { Outcome } from './stored-types.ts';

/** One line of the file. The newest line contains the whole state. */
interface Line {
  /** The last transaction that changed the device, and its outcome. */
  readonly last?: LastChange | undefined;
  readonly state: DeviceState;
}

interface LastChange {
  readonly transactionId: number;
  readonly outcome: Outcome;
}

const compactAboveLines = 200;

/**
 * The part of the headset that transactions change. Each change writes one line with the new state, the transaction
 * and its outcome. After a crash, this line shows that the change must not be made again.
 */
export class Device {
  readonly #file: LineFile;
  readonly #initial: DeviceContent;
  #line: Line;

  constructor(file: LineFile, initial: Partial<DeviceContent>) {
    checkContent(initial);
    this.#initial = Object.keys(initial).length === 0 ? factoryContent : { ...factoryContent, ...initial };
    this.#line = { state: this.#initial };
    this.#file = file;
    const lines = this.#file.read() as Line[];
    const newest = lines.at(-1);
    if (newest) this.#line = newest;
    if (lines.length > compactAboveLines) this.#file.rewrite([this.#line]);
  }

  get state(): DeviceState {
    return this.#line.state;
  }

  /** The state after a reset: the initial content with the current firmware and condition. */
  afterReset(): DeviceState {
    const { condition, firmwareVersion } = this.state;
    return { ...this.#initial, condition, firmwareVersion };
  }

  /**
   * The state without the application's data: settings, networks and pairings (protocol page, "Activations").
   */
  withoutApplicationData(): DeviceState {
    const { apns, wifi, launcherKeys, languages } = this.#initial;
    const bluetoothDevices = this.state.bluetoothDevices.map((d) => ({
      ...d,
      paired: false,
      connected: false,
    }));
    return { ...this.state, apns, wifi, launcherKeys, languages, bluetoothDevices };
  }

  /** Returns the outcome of the transaction that made the last change; undefined for other transactions. */
  outcomeOf(transactionId: number): Outcome | undefined {
    const { last } = this.#line;
    return last?.transactionId === transactionId ? last.outcome : undefined;
  }

  /** Stores a transaction's change and its outcome in one step. */
  change(state: DeviceState, transactionId: number, outcome: Outcome): void {
    this.#write({ last: { transactionId, outcome }, state });
  }

  /** Changes parts of the content without a transaction. Throws an Error for an unknown part. */
  changeContent(content: Partial<DeviceContent>): void {
    checkContent(content);
    this.#write({ last: this.#line.last, state: { ...this.state, ...content } });
  }

  close(): void {
    this.#file.close();
  }

  #write(line: Line): void {
    this.#file.append(line);
    this.#line = line;
  }
}

function checkContent(content: Partial<DeviceContent>): void {
  for (const key of Object.keys(content)) {
    if (!Object.hasOwn(factoryContent, key)) throw new Error(`a headset's content has no ${key}`);
  }
}
