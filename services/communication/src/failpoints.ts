/** Where a test may stop the process (kit/failpoints.ts). Each fires just after the step that it names. */
export const communicationFailpoints: readonly string[] = [
  'communication.reserved',
  'communication.channel-stored',
  'communication.event-stored',
  'communication.event-applied',
  'communication.event-published',
  'communication.recording-planned',
  'communication.urls-stored',
  'communication.part-sent',
  'communication.part-stored',
  'communication.recording-ended',
  'communication.recording-published',
];
