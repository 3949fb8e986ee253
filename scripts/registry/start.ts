import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { dump } from 'js-yaml'
import { createAuthority } from '../../src/composition/certificates.ts'
import { NOTIFY_HEADER } from '../../src/contracts/registry/names.ts'
import { readIfThere, readOrCreate, writePrivate } from '../controlplane/files.ts'
import type { ControlPlane } from '../controlplane/index.ts'
import { NODE_ADDRESS } from '../node/addresses.ts'
import { registryHosts } from '../node/configuration.ts'
import { stateOf } from '../node/namespaces.ts'
import { FACADE_IN_CLUSTER } from '../node/services.ts'

/** A registry and the files for the operator. */
export type RunningRegistry = {
  url: string
  /** The address in names of images. */
  host: string
  /** The address for clients on this machine. */
  address: string
  storageFolder: string
  auditFolder: string
  authorityCertificate: string
  authorityKey: string
  notifySecretFile: string
}

const READY_TIMEOUT_MS = 60_000
const ISSUER = 'freehold'
const TOKEN_PATH = '/registry/auth/token'

type Place = { folder: string; ports: { registry: number; facade: number } }

/** One process of the registry: its listener, and its token endpoint. */
type RegistryListener = { address: string; realm: string }

/**
 * Runs the registry on a folder of the data folder. It refers clients to the facade for tokens, trusts whatever the
 * authority has certified, and notifies the facade. With a real node there are two processes on one folder: builds and
 * the kubelet use another address than this machine, and another facade.
 *
 * @throws Error if it does not answer in time
 */
export async function startRegistry(
  controlPlane: ControlPlane,
  { program, folder, ports }: Place & { program: string },
): Promise<RunningRegistry> {
  const data = join(folder, 'registry')
  const inData = (name: string) => join(data, name)
  const address = `127.0.0.1:${ports.registry}`
  const hasNode = controlPlane.gateway !== undefined
  const running = {
    url: `http://${address}`,
    host: hasNode ? `${NODE_ADDRESS}:${ports.registry}` : address,
    address,
    storageFolder: inData('storage'),
    auditFolder: inData('audit'),
    authorityCertificate: inData('authority.crt'),
    authorityKey: inData('authority.key'),
    notifySecretFile: inData('notify-secret'),
  }
  await keepAuthority(running)
  const secret = await readOrCreate(running.notifySecretFile, () => randomBytes(32).toString('base64url'))
  const start = async (name: string, listener: RegistryListener) => {
    const configuration = inData(`${name}.yaml`)
    await writePrivate(configuration, dump(configurationOf(running, listener, ports, secret)))
    const environment = { ...process.env, OTEL_TRACES_EXPORTER: 'none' }
    controlPlane.startProcess({ name, program, args: ['serve', configuration], environment })
  }
  // Clients do not follow a registry to a loopback or private address, only to a name.
  await start('images', { address, realm: `http://localhost:${ports.facade}${TOKEN_PATH}` })
  if (hasNode) {
    await start('images-in-cluster', { address: running.host, realm: `${FACADE_IN_CLUSTER}${TOKEN_PATH}` })
    await writePrivate(join(stateOf(folder), 'registries', running.host, 'hosts.toml'), registryHosts(running.host))
  }
  await waitForAnswer(controlPlane, `${running.url}/v2/`)
  return running
}

/** Created once for a data folder: a new one would invalidate everything that was minted. */
async function keepAuthority({ authorityCertificate, authorityKey }: RunningRegistry): Promise<void> {
  if ((await readIfThere(authorityKey)) !== undefined) return
  const { certPem, keyPem } = await createAuthority('freehold registry', new Date())
  // The key last, so that a start that ended in between creates both again.
  await writePrivate(authorityCertificate, certPem)
  await writePrivate(authorityKey, keyPem)
}

function configurationOf(
  { host, storageFolder, authorityCertificate }: RunningRegistry,
  { address, realm }: RegistryListener,
  { facade }: Place['ports'],
  secret: string,
): object {
  const facadeUrl = `http://127.0.0.1:${facade}`
  return {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: storageFolder },
      delete: { enabled: true },
      maintenance: { uploadpurging: { enabled: true, age: '48h', interval: '24h', dryrun: false } },
    },
    http: { addr: address, secret, draintimeout: '5s' },
    auth: {
      token: {
        realm,
        service: host,
        issuer: ISSUER,
        rootcertbundle: authorityCertificate,
        signingalgorithms: ['ES256'],
      },
    },
    notifications: {
      endpoints: [
        {
          name: 'freehold',
          url: `${facadeUrl}/v1/internal/registries/notify`,
          headers: { [NOTIFY_HEADER]: [secret] },
          timeout: '5s',
          threshold: 5,
          backoff: '1s',
          // Blobs of images: only manifests are reported.
          ignoredmediatypes: ['application/octet-stream'],
        },
      ],
    },
  }
}

/** Without a token it refuses, which counts as an answer. */
async function waitForAnswer(controlPlane: ControlPlane, url: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    const outcome = await Promise.race([
      fetch(url).then(
        () => true,
        () => false,
      ),
      controlPlane.failed,
    ])
    if (outcome) return
    if (performance.now() > deadline) throw new Error(`The registry does not answer at ${url}.`)
    await delay(50)
  }
}
