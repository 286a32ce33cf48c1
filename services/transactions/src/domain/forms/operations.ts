/** Which form the callbacks of an operation have (specification callbacks-and-site.md section 3). */
export type Form = 'general' | 'update' | 'uninstall' | 'connectivity';

/** Software and firmware updates: the only ones that report progress. */
export const updateOperations: readonly string[] = [
  'put-v1-applications-devices-apps',
  'put-v1-applications-devices-firmware',
];

/** The only operation whose called app answers by itself (ruling A8). */
export const commandOperation = 'put-v1-applications-devices-commands';

/** A reset ends without a report of its own (ruling B7). */
export const resetOperation = 'put-v1-applications-devices-reset';

const forms = new Map<string, Form>([
  ...updateOperations.map((id) => [id, 'update'] as const),
  ['delete-v1-applications-devices-package', 'uninstall'],
  ...[
    'get-v1-applications-connectivity-list',
    'get-v1-applications-connectivity-state',
    'put-v1-applications-connectivity-state',
    'delete-v1-applications-connectivity-reset',
    'post-v1-applications-bluetooth-device',
    'put-v1-applications-bluetooth-device',
    'delete-v1-applications-bluetooth-device',
  ].map((id) => [id, 'connectivity'] as const),
]);

export function formOf(operationId: string): Form {
  return forms.get(operationId) ?? 'general';
}
