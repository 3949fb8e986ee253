import { createHash, randomBytes } from 'node:crypto'
import { access, mkdir, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readOrCreate } from '../controlplane/files.ts'
import type { ControlPlane } from '../controlplane/index.ts'
import { objectStoreVersion } from './find.ts'

export type RunningStore = {
  endpoint: string
  usersEndpoint: string
  accessKeyId: string
  secretAccessKey: string
  /** The folder that audit look-ups read: the receiver writes a JSON line for each request. */
  accessLog: string
  /** The folder in which buckets are removed together with their contents. */
  folder: string
  version: string
}

type StorePorts = Record<'store' | 'storeUsers' | 'storeAudit', number>

const READY_TIMEOUT_MS = 120_000
const ACCESS_KEY_ID = 'freehold'

/** Far below the limit of open files: the store needs one for each request that it reports. */
const MAX_CONNECTIONS = '4096'

/**
 * Runs versitygw on folders of the data folder: one process for users and keys, one for S3, and ours that S3 tells of each
 * request. The first two speak over a socket, whose path may be a hundred characters long, so that it stands in the folder
 * for temporary files.
 *
 * @throws Error if it does not answer in time
 */
export async function startObjectStore(
  controlPlane: ControlPlane,
  { program, folder, ports }: { program: string; folder: string; ports: StorePorts },
): Promise<RunningStore> {
  const data = join(folder, 'objectstore')
  const inData = (name: string) => join(data, name)
  for (const name of ['users', 'objects', 'versions', 'access'])
    await mkdir(inData(name), { recursive: true, mode: 0o700 })
  const metadata = await metadataFlags(inData('objects'), inData('metadata'))
  const secretAccessKey = await readOrCreate(inData('secret'), () => randomBytes(32).toString('base64url'))
  const hash = createHash('sha256').update(folder).digest('hex').slice(0, 12)
  const socket = join(tmpdir(), `freehold-${hash}.sock`)
  // In the environment, because everybody on the machine can read arguments.
  const environment = {
    ...process.env,
    // Further names of its log settings, which would take precedence over ours if anybody set them.
    WEBHOOK: undefined,
    LOGFILE: undefined,
    ROOT_ACCESS_KEY_ID: ACCESS_KEY_ID,
    ROOT_SECRET_ACCESS_KEY: secretAccessKey,
  }
  const at = (port: number) => `127.0.0.1:${port}`
  const start = (name: string, args: readonly string[], own: NodeJS.ProcessEnv = {}) =>
    controlPlane.startProcess({ name, program, args, environment: { ...environment, ...own } })
  start('objectstore-users', [
    '--port',
    at(ports.storeUsers),
    'iam',
    '--dir',
    inData('users'),
    '--private-ports',
    socket,
  ])
  await waitForAnswer(controlPlane, `http://${at(ports.storeUsers)}/`)
  const accessLog = inData('access')
  const receiver = { port: ports.storeAudit, accessLog, objects: inData('objects') }
  const audit = await startReceiver(controlPlane, receiver)
  const limitFlags = ['--max-connections', MAX_CONNECTIONS, '--max-requests', MAX_CONNECTIONS]
  const flags = ['--port', at(ports.store), '--quiet', '--iam-cache-disable', ...limitFlags]
  const backend = ['posix', '--versioning-dir', inData('versions'), ...metadata, inData('objects')]
  start('objectstore', [...flags, '--iam-standalone-endpoint', socket, ...backend], { VGW_LOG_WEBHOOK_URL: audit })
  await waitForAnswer(controlPlane, `http://${at(ports.store)}/`)
  return {
    endpoint: `http://${at(ports.store)}`,
    usersEndpoint: `http://${at(ports.storeUsers)}`,
    accessKeyId: ACCESS_KEY_ID,
    secretAccessKey,
    accessLog,
    folder: data,
    version: await objectStoreVersion(),
  }
}

/**
 * The store prints the address with its secret at startup, so the secret is new each time, and logs of processes are
 * private.
 *
 * @returns the address for the store, which does not start unless somebody listens there
 */
async function startReceiver(
  controlPlane: ControlPlane,
  { port, accessLog, objects }: { port: number; accessLog: string; objects: string },
): Promise<string> {
  const secret = randomBytes(32).toString('base64url')
  controlPlane.startProcess({
    name: 'objectstore-audit',
    program: process.execPath,
    args: [join(import.meta.dirname, 'receive.ts')],
    environment: {
      ...process.env,
      RECEIVER_PORT: String(port),
      RECEIVER_FOLDER: accessLog,
      RECEIVER_OBJECTS: objects,
      RECEIVER_AUTHORIZATION: `Basic ${Buffer.from(`store:${secret}`).toString('base64')}`,
      RECEIVER_PLATFORM: ACCESS_KEY_ID,
    },
  })
  await waitForAnswer(controlPlane, `http://127.0.0.1:${port}/`)
  return `http://store:${secret}@127.0.0.1:${port}/`
}

/**
 * The store keeps its metadata in files: extended attributes, its default, have room for 4 KiB on ext4, which the
 * policy of a bucket with many keys exceeds. Older data keeps its attributes, and that limit, until a start with
 * `--fresh`.
 */
async function metadataFlags(objects: string, metadata: string): Promise<string[]> {
  const isThere = await access(metadata).then(
    () => true,
    () => false,
  )
  if (!isThere && (await readdir(objects)).length > 0) return []
  await mkdir(metadata, { recursive: true, mode: 0o700 })
  return ['--sidecar', metadata]
}

/** Any answer will do: without a signature it is a refusal, or a redirect to the vendor's page. */
async function waitForAnswer(controlPlane: ControlPlane, url: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    const outcome = await Promise.race([
      fetch(url, { redirect: 'manual' }).then(
        () => true,
        () => false,
      ),
      controlPlane.failed,
    ])
    if (outcome) return
    if (performance.now() > deadline) throw new Error(`The object store does not answer at ${url}.`)
    await delay(50)
  }
}
