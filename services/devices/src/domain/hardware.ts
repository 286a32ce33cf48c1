import { isLongerThan } from '@headset-cloud/runtime/characters.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** A registered hardware model (specification API 3). */
export interface HardwareModel {
  /** The identifier that headsets report; unique. */
  readonly identifier: string;
  readonly name: string;
  readonly description: string;
  readonly shape: (typeof shapes)[number];
  /** Empty if not registered. */
  readonly cameras: readonly Camera[];
}

export interface Camera {
  readonly direction: (typeof directions)[number];
  readonly mountedPosition: string;
  /** Pixels. */
  readonly maxWidth: number;
  readonly maxHeight: number;
}

/** A model as the operator entered it, not yet checked. */
export type EnteredModel = Omit<HardwareModel, 'shape' | 'cameras'> & {
  readonly shape: string;
  readonly cameras: readonly (Omit<Camera, 'direction'> & { readonly direction: string })[];
};

const shapes = ['box', 'neck-mounted'] as const;
const directions = ['landscape', 'portrait'] as const;
const mostCameras = 16;
const mostPixels = 100_000;

function refuse(message: string): never {
  throw new DomainError('invalid_argument', message);
}

/** Throws `invalid_argument` that names the field and the rule unless the model is complete and valid. */
export function requireHardwareModel(entered: EnteredModel | undefined): HardwareModel {
  if (!entered) return refuse('model is missing.');
  if (entered.cameras.length > mostCameras) refuse(`cameras has more than ${mostCameras} entries.`);
  return {
    identifier: line('identifier', entered.identifier, 1, 100),
    name: line('name', entered.name, 1, 100),
    description: line('description', entered.description, 0, 1000),
    shape: word('shape', entered.shape, shapes),
    cameras: entered.cameras.map((camera, n) => ({
      direction: word(`cameras[${n}].direction`, camera.direction, directions),
      mountedPosition: line(`cameras[${n}].mounted_position`, camera.mountedPosition, 1, 100),
      maxWidth: pixels(`cameras[${n}].max_width`, camera.maxWidth),
      maxHeight: pixels(`cameras[${n}].max_height`, camera.maxHeight),
    })),
  };
}

/** Checks the destination of a device, a free text of the operator; empty for none. */
export function requireSpecificDestination(text: string): string {
  return line('specific_destination', text, 0, 255);
}

function line(field: string, text: string, least: number, most: number): string {
  if (text.length < least || isLongerThan(text, most)) {
    refuse(`${field} is not a text of ${least} to ${most} characters.`);
  }
  if (/\p{Cc}/u.test(text) || text !== text.trim()) {
    refuse(`${field} is not one line without control characters and without white space around it.`);
  }
  return text;
}

function word<W extends string>(field: string, text: string, words: readonly W[]): W {
  const known = words.find((one) => one === text);
  return known ?? refuse(`${field} ${JSON.stringify(text)} is not one of ${words.join(', ')}.`);
}

function pixels(field: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= mostPixels) return value;
  return refuse(`${field} ${value} is not a whole number of pixels from 1 to ${mostPixels}.`);
}
