import { allowEmpty } from '@headset-cloud/cli/options.ts';
import { fields } from '@headset-cloud/cli/output.ts';
import {
  DevicesAdminService,
  ListHardwareModelsResponseSchema,
  PutHardwareModelResponseSchema,
} from '@headset-cloud/proto/devices/v1/admin_pb.ts';
import type { Camera, HardwareModel } from '@headset-cloud/proto/devices/v1/service_pb.ts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Session } from '../session.ts';

type GivenCamera = Pick<Camera, 'direction' | 'mountedPosition' | 'maxWidth' | 'maxHeight'>;

interface PutOptions {
  name?: string;
  description: string;
  shape: string;
  camera: GivenCamera[];
}

/** `hardware put|list`. */
export function addHardware(program: Command, session: Session): void {
  const group = program.command('hardware').description('hardware models');

  group
    .command('put <identifier>')
    .description('register or replace a model under the identifier that its headsets report')
    .requiredOption('--shape <shape>', 'box or neck-mounted')
    .option('--name <name>', 'name; default: the identifier')
    .addOption(allowEmpty(new Option('--description <text>', 'description').default('')))
    .option(
      '--camera <direction:position:WIDTHxHEIGHT>',
      'a camera, such as landscape:front:1920x1080; repeat for each camera',
      addCamera,
      [],
    )
    .action(async (identifier: string, { name, description, shape, camera }: PutOptions) => {
      const model = { identifier, name: name ?? identifier, description, shape, cameras: camera };
      const answer = await session.call('devices', DevicesAdminService, (c) => c.putHardwareModel({ model }));
      session.showMessage(PutHardwareModelResponseSchema, answer, (put) => describe(put.model));
    });

  group
    .command('list')
    .description('the registered models, by identifier')
    .action(async () => {
      const answer = await session.call('devices', DevicesAdminService, (c) => c.listHardwareModels({}));
      session.showMessage(ListHardwareModelsResponseSchema, answer, ({ models }) =>
        session.table(
          models,
          [
            ['IDENTIFIER', (m) => m.identifier],
            ['NAME', (m) => m.name],
            ['SHAPE', (m) => m.shape],
            ['CAMERAS', (m) => m.cameras.map(cameraText).join(', ')],
          ],
          'No hardware models. Register one: ctl hardware put IDENTIFIER --shape box',
        ),
      );
    });
}

/** Reads one camera; the position may contain anything but a colon. */
function addCamera(text: string, before: GivenCamera[]): GivenCamera[] {
  const [, direction, mountedPosition, width, height] =
    /^([^:]+):([^:]+):(\d{1,9})x(\d{1,9})$/.exec(text) ?? [];
  if (!direction || !mountedPosition) {
    throw new InvalidArgumentError('It is not direction:position:WIDTHxHEIGHT.');
  }
  const camera = { direction, mountedPosition, maxWidth: Number(width), maxHeight: Number(height) };
  return [...before, camera];
}

function cameraText({ direction, mountedPosition, maxWidth, maxHeight }: Camera): string {
  return `${direction} ${mountedPosition} ${maxWidth}x${maxHeight}`;
}

function describe(model: HardwareModel | undefined): string {
  if (!model) return '';
  return fields([
    ['identifier', model.identifier],
    ['name', model.name],
    ['description', model.description],
    ['shape', model.shape],
    ['cameras', model.cameras.map(cameraText)],
  ]);
}
