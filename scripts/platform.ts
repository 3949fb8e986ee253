import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { firstOwner } from '../src/identity/firstOwner.ts'
import { createKubeClient, type KubeClient } from '../src/kube/client.ts'
import { loadKubeconfig } from '../src/kube/kubeconfig.ts'
import { readIfThere, writePrivate } from './controlplane/files.ts'
import type { AccessOptions, ControlPlane, Progress } from './controlplane/index.ts'
import { applyManifests, applyObjects } from './platform/manifests.ts'
import { operatorEnvironment, writeOperatorKubeconfig } from './platform/operator.ts'
import { untilAnswers } from './platform/readiness.ts'

/** Listeners of the platform on 127.0.0.1. They are chosen before the API server starts, which must know the issuer. */
export const PLATFORM_PORTS = ['facade', 'identity', 'token', 'management', 'webhook'] as const
export type PlatformPorts = Record<(typeof PLATFORM_PORTS)[number], number>

export const REALM = 'freehold'
/** The audience that the facade and the API server ask for (interface section 5). */
const AUDIENCE = 'platform-kubernetes-client'
const READY_WITHIN = 60_000

const realmUrl = (origin: string) => `${origin}/realms/${REALM}`
export const issuerUrl = (ports: PlatformPorts) => realmUrl(`https://127.0.0.1:${ports.identity}`)

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
 * Puts the platform onto a ready control plane: CRDs and manifests, a first Owner, and the operator's process, which is
 * ready when the facade, the tokens and the default objects are.
 *
 * @throws Error of the step that failed, with the end of the operator's log where the operator did
 */
export async function installPlatform(controlPlane: ControlPlane, options: PlatformOptions): Promise<Platform> {
  const { folder, ports, progress, signal } = options
  const admin = createKubeClient(await loadKubeconfig(controlPlane.kubeconfigPath), {
    fieldManager: 'freehold-install',
    userAgent: 'freehold-up',
  })
  try {
    await progress.step('applying CRDs and manifests', () => applyManifests(admin))
    const credentials = await progress.step('making the first Owner', () => installFirstOwner(admin, folder))
    await progress.step('starting the platform', () => startOperator(controlPlane, options))
    signal.throwIfAborted()
    return {
      facadeUrl: `http://127.0.0.1:${ports.facade}`,
      tokenUrl: `${realmUrl(`http://127.0.0.1:${ports.token}`)}/protocol/openid-connect/token`,
      realm: REALM,
      ...credentials,
    }
  } finally {
    await admin.close()
  }
}

type Credentials = { clientId: string; clientSecret: string }

/** Made once for a data folder: a second `up` finds the same Owner. */
async function installFirstOwner(admin: KubeClient, folder: string): Promise<Credentials> {
  const path = join(folder, 'platform', 'first-owner.json')
  const stored = await readIfThere(path)
  const credentials: Credentials =
    stored === undefined
      ? { clientId: randomUUID(), clientSecret: randomBytes(32).toString('base64url') }
      : JSON.parse(stored)
  // Written first: credentials of which nothing is known any more could not be taken back.
  if (stored === undefined) await writePrivate(path, `${JSON.stringify(credentials, null, 2)}\n`)
  await applyObjects(admin, firstOwner({ ...credentials, displayName: 'First owner' }))
  return credentials
}

async function startOperator(controlPlane: ControlPlane, options: PlatformOptions): Promise<void> {
  const { folder, ports, signal } = options
  const kubeconfig = await writeOperatorKubeconfig(controlPlane, folder)
  const { certPem, keyPem } = await controlPlane.issueServingCertificate(['127.0.0.1', 'localhost'])
  const certificate = join(folder, 'platform', 'identity.crt')
  const key = join(folder, 'platform', 'identity.key')
  const authority = join(folder, 'platform', 'authority.crt')
  await Promise.all([
    writePrivate(certificate, certPem),
    writePrivate(key, keyPem),
    writePrivate(authority, controlPlane.servingCaPem),
  ])
  controlPlane.startProcess({
    name: 'freehold',
    program: process.execPath,
    args: ['--enable-source-maps', join(import.meta.dirname, '..', 'src', 'main.ts')],
    environment: operatorEnvironment(controlPlane, {
      ports,
      kubeconfig,
      certificate,
      key,
      authority,
      issuer: issuerUrl(ports),
      realm: REALM,
      audience: AUDIENCE,
    }),
  })
  await Promise.race([
    untilAnswers(`http://127.0.0.1:${ports.facade}/readyz`, READY_WITHIN, signal),
    controlPlane.failed,
  ])
}
