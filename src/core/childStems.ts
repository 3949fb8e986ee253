/** What the names of objects begin with that the platform creates for a resource, before the first hyphen. */
const STEMS = [
  ...(['bpv', 'bpx', 'build', 'crel', 'dreclog', 'fnns', 'long', 'mi', 'oak', 'pbackup', 'pcomp', 'pjob'] as const),
  ...(['relc', 'relcbackup', 'relchistory', 'relcowner', 'relcpool', 'relcpublic', 'relcreader', 'relcro'] as const),
  ...(['relcrw', 'relcsource', 'relctarget', 'relcwriter', 'resumed', 'rollout', 'sfn'] as const),
  ...(['sqli', 'sqlibackup', 'sqlipeers', 'sqlipublic', 'vc', 'vcpeers', 'vcpublic', 'vent'] as const),
]
const CONTAINER_STEMS = ['cti', 'papp', 'swa'] as const
const CONTAINER_PARTS = ['', 'backup', 'cert', 'env', 'files', 'pull', 'rel', 'rev', 'vol'] as const

export type ChildStem =
  | (typeof STEMS)[number]
  | `${(typeof CONTAINER_STEMS)[number]}${(typeof CONTAINER_PARTS)[number]}`

/** With these begin the names of pull Secrets, of sources and of the platform. */
const PULL_SECRET_STEMS = ['registry', 'freehold'] as const

/**
 * Matches names of the platform, in RE2: somebody who chose one for an object of their own would take it from a resource
 * that is created later.
 */
export const RESERVED_NAME_PATTERN = `^((${CONTAINER_STEMS.join('|')})(${CONTAINER_PARTS.join('|')})|${[...STEMS, ...PULL_SECRET_STEMS].join('|')})-`
