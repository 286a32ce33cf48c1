import { suggesting } from '@headset-cloud/cli/completion.ts';
import { Option } from 'commander';

/**
 * Callback types for completion, in the order of the contract documents (cws_notification, cws_extension). Other types
 * are accepted, because the API's list, `GET …/event_types`, may be newer.
 */
export const eventTypes: readonly string[] = [
  'notify-transaction-result',
  'notify-update-result',
  'notify-uninstall-result',
  'notify-command-result',
  'notify-transaction-canceled',
  'notify-connectivity-list',
  'notify-connectivity-state',
  'notify-connectivity-reset',
  'notify-bluetooth-pairing',
  'notify-bluetooth-connection',
  'notify-custom-data',
  'notify-app-status',
  'notify-boot',
  'notify-device-wearing-status',
  'notify-battery-charging',
  'notify-network-connection-status',
  'notify-battery-percentage-changed',
  'notify-location',
  'notify-network-level',
  'notify-volume',
  'notify-signal',
  'notify-bluetooth',
  'notify-sora-event',
  'notify-recording',
  'notify-file-upload',
  'notify-destination-failing',
  'notify-destination-recovered',
  'notify-deliveries-dead',
];

/** The option `--types` of commands that filter. */
export const typesOption = (): Option =>
  suggesting(
    new Option('--types <types>', 'only these types, separated by commas: notify-boot,notify-location'),
    eventTypes,
  );
