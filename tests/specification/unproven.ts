const updates = 'the updates service is not part of this state yet';
const communication = 'the communication service is not part of this state yet';

/** Lines that no test proves yet, each with the reason. Printed by the check; nothing else is let off. */
export const unproven: Readonly<Record<string, string>> = {
  'api/3/channel-id': communication,
  'api/5/upload-prefix': updates,
  'api/5/upload-other-developer': updates,
  'api/5/upload-content-type': updates,
  'api/5/upload-no-multipart': updates,
  'api/5/firmware-downgrade': updates,
  'api/8/400-downgrade': updates,
  'api/8/503-channels': communication,
  'api/9/chunk-part-size': updates,
  'api/9/url-lifetime': updates,
  'cb/3/sora-events': communication,
  'cb/3/recording': communication,
  'cb/3/recording-single': communication,
  'cb/3/recording-multipart': communication,
  'cb/3/recording-both': communication,
  'cb/3/recording-after-200': communication,
  'cb/4/multipart-completion': communication,
  'cb/5/splitted': communication,
  'cb/5/json-single': communication,
  'cb/8/archive-not-found': communication,
  'cb/8/presigned-failed': communication,
};
