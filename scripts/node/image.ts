import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createZstdCompress } from 'node:zlib'
import { request } from 'undici'
import { cachedAt } from '../controlplane/cache.ts'
import { exists, readIfThere } from '../controlplane/files.ts'
import { ARCHITECTURE } from '../controlplane/nodes.ts'

const run = promisify(execFile)

/** The `config` of an OCI image: what its containers run, and as which user. */
export type ImageConfig = {
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly Env?: readonly string[]
  readonly User?: string
  readonly WorkingDir?: string
  readonly ExposedPorts?: Readonly<Record<string, object>>
}

/**
 * A folder that stands for the root of the file system, whose owners and modes are kept; or some paths in a folder, which
 * come below `to` as files of root that everybody may read.
 */
export type Layer =
  | string
  | {
      readonly from: string
      readonly paths: readonly string[]
      readonly to: string
      /** Patterns of paths that stay out, in which a star stands for slashes too. */
      readonly without?: readonly string[]
    }

export type ImageSource = {
  /** For example `web:1`. */
  readonly name: string
  /** Each is placed over the one before. */
  readonly layers: readonly Layer[]
  readonly config: ImageConfig
  /**
   * Identifies the content of the layers, so that the image is rebuilt only if it changes. Without it, it is always
   * rebuilt.
   */
  readonly key?: string
}

/** The name of an image as a file name. */
export const fileNameOf = (name: string) => name.replaceAll(/[/:]/g, '-')

type Descriptor = { mediaType: string; digest: string; size: number }
/** An image in a folder: its blobs are files named by their digest. */
export type Image = { readonly name: string; readonly folder: string; readonly manifest: string }

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const CONFIG = 'application/vnd.oci.image.config.v1+json'
const LAYER = 'application/vnd.oci.image.layer.v1.tar+zstd'

/**
 * Makes an OCI image of folders, without a daemon: the same folders give the same digests.
 *
 * @see https://github.com/opencontainers/image-spec
 */
export async function makeImage({ name, layers, config, key }: ImageSource): Promise<Image> {
  const stem = cachedAt(`image-${fileNameOf(name)}-`)
  const known = key === undefined ? undefined : stem + shortHash(JSON.stringify({ name, config, key, LAYER }))
  const found = known && (await readIfThere(join(known, 'manifest.json')))
  if (known !== undefined && found !== undefined) return { name, folder: known, manifest: found }
  await mkdir(cachedAt(''), { recursive: true })
  const temporary = await mkdtemp(stem)
  try {
    const builtLayers: { blob: Descriptor; content: string }[] = []
    for (const layer of layers) builtLayers.push(await addLayer(temporary, layer))
    const blobs = builtLayers.map(({ blob }) => blob)
    const text = JSON.stringify({
      architecture: ARCHITECTURE,
      os: 'linux',
      created: '1970-01-01T00:00:00Z',
      config,
      rootfs: { type: 'layers', diff_ids: builtLayers.map(({ content }) => content) },
      history: layers.map(() => ({ created_by: 'freehold' })),
    })
    const described = await addText(temporary, CONFIG, text)
    const manifestText = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config: described, layers: blobs })
    await writeFile(join(temporary, 'manifest.json'), manifestText)
    // The cache keeps one image per content.
    const folder = known ?? stem + shortHash(manifestText)
    await rename(temporary, folder).catch(async (error: NodeJS.ErrnoException) => {
      // It existed already, or another process has created it meanwhile.
      if (!(await exists(join(folder, 'manifest.json')))) throw error
    })
    return { name, folder, manifest: manifestText }
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** No history of files is stored in a layer. */
const TAR_FLAGS = [
  '--sort=name',
  '--mtime=@0',
  '--numeric-owner',
  '--format=pax',
  '--pax-option=delete=atime,delete=ctime',
  // File capabilities are part of an image.
  '--xattrs',
  '--xattrs-include=security.capability',
]

/**
 * Compressed, because every build that starts from the image copies its layers. @returns with the digest of the content
 */
async function addLayer(temporary: string, layer: Layer): Promise<{ blob: Descriptor; content: string }> {
  const [archive, file] = [join(temporary, 'archive'), join(temporary, 'layer')]
  await run('tar', [...TAR_FLAGS, '-cf', archive, ...contentOf(layer)])
  await pipeline(createReadStream(archive), createZstdCompress(), createWriteStream(file))
  const [content, digest] = [await digestOf(archive), await digestOf(file)]
  const { size } = await stat(file)
  await rm(archive)
  await rename(file, join(temporary, digest))
  return { blob: { mediaType: LAYER, digest, size }, content }
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return `sha256:${hash.digest('hex')}`
}

function contentOf(layer: Layer): string[] {
  if (typeof layer === 'string') return ['-C', layer, '.']
  const { from, paths, to, without = [] } = layer
  // Targets of symbolic links are not rewritten.
  const moved = to === '' ? [] : [`--transform=flags=r;s,^,${to}/,`]
  const owned = ['--owner=0', '--group=0', '--mode=u+rw,go-w,a+rX', '--hard-dereference']
  const excluded = without.map((pattern) => `--exclude=${pattern}`)
  return [...owned, ...moved, '--anchored', ...excluded, '-C', from, ...paths]
}

async function addText(temporary: string, mediaType: string, text: string): Promise<Descriptor> {
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`
  await writeFile(join(temporary, digest), text)
  return { mediaType, digest, size: Buffer.byteLength(text) }
}

/**
 * Puts an image into a registry; blobs that it has are not sent again.
 *
 * @param registry its origin, such as `http://127.0.0.1:5000`
 * @throws Error naming what the registry refused
 * @see https://github.com/opencontainers/distribution-spec
 */
export async function pushImage(registry: string, image: Image): Promise<void> {
  const [repository = '', tag = ''] = image.name.split(':')
  const base = `${registry}/v2/${repository}`
  const { config, layers } = JSON.parse(image.manifest) as { config: Descriptor; layers: Descriptor[] }
  for (const blob of [...layers, config]) await pushBlob(base, image.folder, blob)
  const headers = { 'content-type': MANIFEST }
  await requireStatus(201, 'PUT', `${base}/manifests/${tag}`, { body: image.manifest, headers })
}

async function pushBlob(base: string, folder: string, { digest, size }: Descriptor): Promise<void> {
  const held = await request(`${base}/blobs/${digest}`, { method: 'HEAD' })
  await held.body.dump()
  if (held.statusCode === 200) return
  const upload = await requireStatus(202, 'POST', `${base}/blobs/uploads/`, {})
  const target = new URL(String(upload.location), base)
  target.searchParams.set('digest', digest)
  const body = createReadStream(join(folder, digest))
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(size) }
  await requireStatus(201, 'PUT', target.href, { body, headers })
}

type PushRequest = { readonly body?: string | Readable; readonly headers?: Record<string, string> }

async function requireStatus(wanted: number, method: 'POST' | 'PUT', url: string, sent: PushRequest) {
  const { statusCode, headers, body } = await request(url, { method, ...sent })
  await body.dump()
  if (statusCode === wanted) return headers
  throw new Error(`The registry answered ${statusCode} to ${method} ${new URL(url).pathname}, not ${wanted}.`)
}
