/** The bar above the navigation. A new id shows it again to those who have closed the one before. */
export const bar = {
  id: 'api-v1',
  text: 'API v1 の提供を開始しました。',
  link: { label: 'お知らせを読む', href: '/information' },
} as const;

export const idKey = 'announcement.id';
export const dismissKey = 'announcement.dismiss';
/** On <html>, set by the head's script before the first paint. */
export const dismissedAttribute = 'data-announcement-dismissed';
