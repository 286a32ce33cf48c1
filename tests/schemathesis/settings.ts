import type { World } from './world.ts';

/** What schemathesis checks and with which values: its schemathesis.toml. */
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

# Some of its cases are taken for wrong ones all the same ("Invalid component: positive test case").
[phases.stateful.checks]
negative_data_rejection.enabled = false
unsupported_method.enabled = false
positive_data_acceptance.enabled = false

[checks]
# An unknown path or method is 403 here (rule A3).
unsupported_method.enabled = false
# What a device or the platform's state refuses is documented, but not for a schema to know.
positive_data_acceptance.enabled = false
${place(['patch-v1-applications'], 'applicationId', world.spareApplicationId)}${place(
  ['delete-v1-applications-devices', 'put-v1-applications-devices-reset'],
  'deviceId',
  world.spareDeviceId,
)}`;
}
