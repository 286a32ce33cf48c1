/** Lines that no test proves yet, each with the reason. Printed by the check; nothing else is let off. */
export const unproven: Readonly<Record<string, string>> = {
  'api/4/canceled-before-2024':
    'No platform of that time exists here: every stored cancellation is canceled.',
};
