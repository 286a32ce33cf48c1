import { addCompletion } from '@headset-cloud/cli/completion.ts';
import { exitCodes } from '@headset-cloud/cli/exit-codes.ts';
import { allowEmpty } from '@headset-cloud/cli/options.ts';
import { createProgram, runProgram } from '@headset-cloud/cli/run.ts';
import type { Surroundings } from '@headset-cloud/cli/session.ts';
import { type Command, Option } from 'commander';
import { addApplications } from './commands/applications.ts';
import { addArtifacts } from './commands/artifacts.ts';
import { addAudit } from './commands/audit.ts';
import { addBill } from './commands/bill.ts';
import { addContracts } from './commands/contracts.ts';
import { addDeadLetters } from './commands/dead-letters.ts';
import { addDeliveries } from './commands/deliveries.ts';
import { addDevelopers } from './commands/developers.ts';
import { addDevices } from './commands/devices.ts';
import { addFirmware } from './commands/firmware.ts';
import { addHardware } from './commands/hardware.ts';
import { addHeadsetKeys } from './commands/headset-keys.ts';
import { addPlans } from './commands/plans.ts';
import { addRecordings } from './commands/recordings.ts';
import { addSecrets } from './commands/secrets.ts';
import { addSora } from './commands/sora.ts';
import { addStatus } from './commands/status.ts';
import { addTransactions } from './commands/transactions.ts';
import { addUsage } from './commands/usage.ts';
import { addressOptions, operatorName } from './connection.ts';
import { createSession } from './session.ts';

const examples = `
Examples:
  Let a developer's client use a new application with two devices:
    $ ctl developers put acme --name "Acme" --client acme-backend
    $ ctl applications create acme-field --developer acme --name "Field support"
    $ ctl contracts put acme-field --limit 2 --add 356938035643809 356938035643817
    $ ctl headset-keys generate 356938035643809 --name "at the factory" --out headset.key.json

  Change a headset's key, or revoke all keys of a developer's headsets:
    $ ctl headset-keys add 356938035643809 new.pub.pem --name "since May"
    $ ctl headset-keys list 356938035643809
    $ ctl headset-keys list --developer acme
    $ ctl headset-keys revoke 356938035643809 OLD-KEY
    $ ctl headset-keys revoke-all --developer acme --dry-run

  Upload a firmware for all devices:
    $ ctl firmware put com.vendor.firmware 9.002.0 firmware.bin

  Use files through a pod with a read-only root file system (- is standard input or output):
    $ ctl headset-keys generate 356938035643809 --out - > headset.key.json
    $ ctl headset-keys add 356938035643809 - < new.pub.pem
    $ ctl contracts put acme-field --add-file - < imeis.txt
    $ ctl firmware put com.vendor.firmware 9.002.0 - --size $(wc -c < firmware.bin) < firmware.bin

  Monitor the platform:
    $ ctl status
    $ ctl transactions list 356938035643809 --open
    $ ctl transactions find --application acme-field --status published --older-than 1h
    $ ctl deliveries list --application acme-field --state dead
    $ ctl deliveries redeliver NOTIFICATION
    $ ctl deliveries list --state pending --oldest
    $ ctl deliveries redeliver --dead-of acme-field --dry-run
    $ ctl artifacts list --package com.example.app
    $ ctl dead-letters list
    $ ctl dead-letters replay ID --reason "fixed in 0.2.0"

  Show the audit log:
    $ ctl audit list --application acme-field --since 2026-11-24
    $ ctl audit list --actor acme-backend --action UpdateSettings --json

  Remove personal data of a device (docs/operations/data.md):
    $ ctl devices forget 356938035643809 --reference REQUEST-17 --dry-run
    $ ctl devices forget 356938035643809 --reference REQUEST-17

  Remove personal and secret data of an application without devices (docs/operations/data.md):
    $ ctl applications forget acme-field --reference REQUEST-18 --dry-run
    $ ctl applications forget acme-field --reference REQUEST-18

  Change SECRET_KEY (docs/operations/rotate.md):
    $ ctl secrets status
    $ ctl secrets reseal

  Set a device's plans, and show a month's bill:
    $ ctl plans put acme-field 356938035643809 --video basic-100 --speech ja
    $ ctl bill show acme-field --month 2026-11

  Completion in the shell, if ctl runs on this machine:
    $ source <(ctl completion bash)

Addresses:
  Default: the addresses that make up has written to .data/addresses.json (CTL_ADDRESSES_FILE names another file), then
  http://127.0.0.1:9100 (the whole platform in one process), then the services' own ports
  (devices 9101, transactions 9102, notifier 9104, updates 9105, connectivity 9106,
  communication 9107, billing 9108).
  Flags override ADMIN_URL, DEVICES_ADMIN, TRANSACTIONS_ADMIN and so on. The admin token is read from ADMIN_TOKEN or ADMIN_TOKEN_FILE.

Exit codes:
  ${exitCodes.ok} done, ${exitCodes.refused} rejected or failed, ${exitCodes.usage} wrong command line, ${exitCodes.unreachable} cannot reach the service, ${exitCodes.unauthenticated} admin token missing or wrong,
  ${exitCodes.warnings} (status only) all services are ready, with warnings about degraded dependencies
  status ends with ${exitCodes.refused} if a process is not ready, or does not answer while others do; with ${exitCodes.unreachable} or ${exitCodes.unauthenticated} if no process could be asked
`;

/** ctl's commands and options. Does not run anything. */
export function buildProgram(surroundings: Surroundings): Command {
  const program = addressOptions(
    createProgram('ctl', {
      description: "The operators' command line of Headset Cloud (rule C17).",
      timeoutMs: 10_000,
      more: examples,
    }),
  )
    .option('--token-file <path>', 'file with the admin token; -: standard input')
    .addOption(
      // The hook below rejects an empty name.
      allowEmpty(
        new Option(
          '--operator <name>',
          'your name for the audit records; default: OPERATOR, then the name of your account on this machine',
        ),
      ),
    );
  // Checks the operator's name before every command, also before a command without an audit record.
  program.hook('preAction', () => void operatorName(program.opts(), surroundings.env));
  const session = createSession(program, surroundings);
  addDevelopers(program, session);
  addApplications(program, session);
  addContracts(program, session);
  addDevices(program, session);
  addHeadsetKeys(program, session);
  addHardware(program, session);
  addTransactions(program, session);
  addDeliveries(program, session);
  addFirmware(program, session);
  addArtifacts(program, session);
  addPlans(program, session);
  addUsage(program, session);
  addBill(program, session);
  addSora(program, session);
  addRecordings(program, session);
  addAudit(program, session);
  addDeadLetters(program, session);
  addSecrets(program, session);
  addStatus(program, session);
  addCompletion(program, session);
  return program;
}

/** Runs one command line (without node and script); returns the exit code. */
export function runCtl(args: readonly string[], surroundings: Surroundings): Promise<number> {
  return runProgram(buildProgram, keyIdsAsOperands(args), surroundings);
}

/**
 * Puts key ids behind `--`. One key id in 64 starts with a dash (it is a thumbprint in base64url), and commander would
 * read it as flags. A key id is always the last operand.
 */
function keyIdsAsOperands(args: readonly string[]): string[] {
  const isKeyId = (arg: string) => /^-[\w-]{42}$/.test(arg);
  if (args.includes('--') || !args.some(isKeyId)) return [...args];
  return [...args.filter((arg) => !isKeyId(arg)), '--', ...args.filter(isKeyId)];
}
