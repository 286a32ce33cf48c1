/** The bar above the navigation. A new id shows the bar again to readers who have closed the previous one. */
export const bar = {
  id: 'api-v1',
  text: 'API v1 の提供を開始しました。',
  link: { label: 'お知らせを読む', href: '/information' },
} as const;

export const idKey = 'announcement.id';
export const dismissKey = 'announcement.dismiss';
/** Attribute of <html> that the head script sets before the first paint. */
export const dismissedAttribute = 'data-announcement-dismissed';
