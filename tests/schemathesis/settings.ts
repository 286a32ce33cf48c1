import type { World } from './world.ts';

/** Checks and values of schemathesis: its schemathesis.toml. */
export function settingsOf(world: World): string {
  const text = JSON.stringify;
  const place = (operationIds: string[], name: string, value: string) =>
    `\n[[operations]]\ninclude-operation-id = ${text(operationIds)}\nparameters = { ${text(`path.${name}`)} = ${text(value)} }\n`;
  return `
headers = { Authorization = ${text(`Bearer ${world.token}`)} }
request-timeout = 15.0
parameters = { "path.applicationId" = ${text(world.applicationId)}, "path.deviceId" = ${text(world.deviceId)} }

[output.sanitization]
enabled = true

# Wrong data comes in the other phases: here the values of links and of this file replace what made it wrong.
[phases.stateful.generation]
mode = "positive"

# Disabled, because schemathesis reports some valid cases as invalid ("Invalid component: positive test case").
[phases.stateful.checks]
negative_data_rejection.enabled = false
unsupported_method.enabled = false
positive_data_acceptance.enabled = false

[checks]
# An unknown path or method is 403 here (rule A3).
unsupported_method.enabled = false
# Rejections because of the state of a device or the platform are documented, but no schema describes them.
positive_data_acceptance.enabled = false
${place(['patch-v1-applications'], 'applicationId', world.spareApplicationId)}${place(
  ['delete-v1-applications-devices', 'put-v1-applications-devices-reset'],
  'deviceId',
  world.spareDeviceId,
)}`;
}
