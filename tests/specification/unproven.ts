const updates = 'the updates service is not part of this state yet';

/** Lines that no test proves yet, each with the reason. Printed by the check; nothing else is let off. */
export const unproven: Readonly<Record<string, string>> = {
  'api/5/upload-prefix': updates,
  'api/5/upload-other-developer': updates,
  'api/5/upload-content-type': updates,
  'api/5/upload-no-multipart': updates,
  'api/5/firmware-downgrade': updates,
  'api/8/400-downgrade': updates,
  'api/9/url-lifetime': updates,
};
