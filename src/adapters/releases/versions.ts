import { CHART_VERSION_PATTERN, compareSemver } from '../../contracts/lifecycle.ts'

const VERSIONS_MAX = 200
const VERSION = new RegExp(CHART_VERSION_PATTERN)
const LENGTH_MAX = 64

/** Returns the tags that are versions, newest first. */
export function versionsAmong(tags: Iterable<string>): string[] {
  const versions = [...tags].filter((tag) => tag.length <= LENGTH_MAX && VERSION.test(tag))
  return versions.sort((one, other) => compareSemver(other, one)).slice(0, VERSIONS_MAX)
}
