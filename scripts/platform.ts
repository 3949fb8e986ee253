import type { AccessOptions, ControlPlane, Progress } from './controlplane/index.ts'

/** Listeners of the platform on 127.0.0.1. They are chosen before the API server starts, which must know the issuer. */
export const PLATFORM_PORTS = ['facade', 'identity', 'management', 'webhook'] as const
export type PlatformPorts = Record<(typeof PLATFORM_PORTS)[number], number>

const REALM = 'freehold'
const AUDIENCE = 'freehold'
const issuerUrl = (ports: PlatformPorts) => `https://127.0.0.1:${ports.identity}/realms/${REALM}`

export type PlatformOptions = {
  /** The data folder; the platform's own files go into `platform` in it. */
  folder: string
  ports: PlatformPorts
  progress: Progress
  /** Aborted when the user stops `up` before it is ready. */
  signal: AbortSignal
}

/** How to reach the platform, as `dev.json` tells it. */
export type Platform = { facadeUrl: string; tokenUrl: string; realm: string; clientId: string; clientSecret: string }

/** Whom the API server trusts beside its own certificates. */
export function platformAccess(ports: PlatformPorts): AccessOptions {
  return { oidc: { issuerUrl: issuerUrl(ports), audience: AUDIENCE } }
}

/**
 * Puts the platform onto a ready control plane. Not written yet: it only says so, and tells the addresses that the
 * platform will have. Processes are to be started with `controlPlane.startProcess`, which stops them again in order.
 */
export async function installPlatform(_controlPlane: ControlPlane, options: PlatformOptions): Promise<Platform> {
  options.progress.note('Only the control plane runs: the platform is not installed by this version')
  return {
    facadeUrl: `http://127.0.0.1:${options.ports.facade}`,
    tokenUrl: `${issuerUrl(options.ports)}/protocol/openid-connect/token`,
    realm: REALM,
    clientId: '',
    clientSecret: '',
  }
}
