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
const maxCameras = 16;
const maxPixels = 100_000;

function refuse(message: string): never {
  throw new DomainError('invalid_argument', message);
}

/** Returns a complete and valid model. Otherwise throws `invalid_argument` with the field and the rule. */
export function requireHardwareModel(entered: EnteredModel | undefined): HardwareModel {
  if (!entered) return refuse('model is missing.');
  if (entered.cameras.length > maxCameras) refuse(`cameras has more than ${maxCameras} entries.`);
  return {
    identifier: line('identifier', entered.identifier, 1, 100),
    name: line('name', entered.name, 1, 100),
    description: line('description', entered.description, 0, 1000),
    shape: oneOf('shape', entered.shape, shapes),
    cameras: entered.cameras.map((camera, n) => ({
      direction: oneOf(`cameras[${n}].direction`, camera.direction, directions),
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

function line(field: string, text: string, min: number, max: number): string {
  if (text.length < min || isLongerThan(text, max)) {
    refuse(`${field} is not a text of ${min} to ${max} characters.`);
  }
  if (/\p{Cc}/u.test(text) || text !== text.trim()) {
    refuse(`${field} is not one line without control characters and without white space around it.`);
  }
  return text;
}

function oneOf<V extends string>(field: string, text: string, values: readonly V[]): V {
  const found = values.find((value) => value === text);
  return found ?? refuse(`${field} ${JSON.stringify(text)} is not one of ${values.join(', ')}.`);
}

function pixels(field: string, value: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= maxPixels) return value;
  return refuse(`${field} ${value} is not a whole number of pixels from 1 to ${maxPixels}.`);
}
