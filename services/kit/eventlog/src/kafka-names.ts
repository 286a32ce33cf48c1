/**
 * Names of topics and groups at the broker. Events, dead letters, metrics and logs use names without the prefix, so
 * that a prefix can be added later without a change of stored data.
 */
export interface KafkaNames {
  topic(topic: string): string;
  /** Each pair of group and topic is a group of the broker, because the broker keeps offsets by group and topic. */
  group(group: string, topic: string): string;
  /** A group that only one process uses. */
  ownGroup(name: string): string;
}

/** The names of a platform whose topics and groups begin with `prefix`. */
export function kafkaNames(prefix = ''): KafkaNames {
  return {
    topic: (topic) => `${prefix}${topic}`,
    group: (group, topic) => `${prefix}${group}.${topic}`,
    ownGroup: (name) => `${prefix}${name}`,
  };
}
