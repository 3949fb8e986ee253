/** The listeners of a platform, each with a port. */
export const PLATFORM_PORTS = [
  'facade',
  'identity',
  'token',
  'management',
  'webhook',
  'agent',
  'activator',
  'store',
  'storeUsers',
  'storeAudit',
  'git',
  'registry',
] as const
export type PlatformPorts = Record<(typeof PLATFORM_PORTS)[number], number>
