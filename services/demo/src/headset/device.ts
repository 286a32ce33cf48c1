import { type DeviceContent, type DeviceState, factoryContent } from './content.ts';
import type { Outcome } from './kept.ts';
import type { LineFile } from './line-file.ts';

/** One line of the file; the newest line holds the whole state. */
interface Line {
  /** The last transaction that changed the device, and how it ended. */
  readonly last?: LastChange | undefined;
  readonly state: DeviceState;
}

interface LastChange {
  readonly transactionId: number;
  readonly outcome: Outcome;
}

const compactAboveLines = 200;

/**
 * The part of the headset that transactions change. Each change is one line, which also names the
 * transaction and its outcome, so that after a death the change is not made again.
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

  /** The state after a reset: the initial content, with the present firmware and condition. */
  wiped(): DeviceState {
    const { condition, firmwareVersion } = this.state;
    return { ...this.#initial, condition, firmwareVersion };
  }

  /**
   * The state without an application's data: settings, networks and pairings (protocol page,
   * "Activations").
   */
  erased(): DeviceState {
    const { apns, wifi, launcherKeys, languages } = this.#initial;
    const bluetoothDevices = this.state.bluetoothDevices.map((d) => ({
      ...d,
      paired: false,
      connected: false,
    }));
    return { ...this.state, apns, wifi, launcherKeys, languages, bluetoothDevices };
  }

  /** How the transaction that made the last change ended; undefined for every other transaction. */
  outcomeOf(transactionId: number): Outcome | undefined {
    const { last } = this.#line;
    return last?.transactionId === transactionId ? last.outcome : undefined;
  }

  /** A transaction's change, and its outcome, in one step. */
  change(state: DeviceState, transactionId: number, outcome: Outcome): void {
    this.#write({ last: { transactionId, outcome }, state });
  }

  /** Applies a change that no transaction caused. Throws for an unknown part of the content. */
  happen(content: Partial<DeviceContent>): void {
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
