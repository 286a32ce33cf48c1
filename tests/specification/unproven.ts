/** Lines that no test proves yet, each with the reason. Printed by the check; nothing else is let off. */
export const unproven: Readonly<Record<string, string>> = {};
