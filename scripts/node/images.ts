import { spawn } from 'node:child_process'
import { basename, dirname, join } from 'node:path'
import type { ToolSearch } from '../controlplane/tool.ts'
import { WRITABLE_REGISTRY } from './addresses.ts'
import { fileNameOf, type Image, type ImageConfig, type Layer, makeImage } from './image.ts'
import type { Namespaces } from './namespaces.ts'
import { unpackedPackages } from './packages.ts'

export type PackageImage = {
  readonly name: string
  readonly packages: readonly string[]
  /** Placed over the packages. */
  readonly layers?: readonly Layer[]
  /** Identifies the layers; an image with layers but without this is always rebuilt. */
  readonly key?: string
  readonly config: ImageConfig
}

export const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** An image whose only file is one static program. */
export function programImage(name: string, program: string, config: ImageConfig = {}): Promise<Image> {
  const file = basename(program)
  return makeImage({
    name,
    layers: [{ from: dirname(program), paths: [file], to: '' }],
    // The program's cache folder is named by its lock, so it changes with the image.
    key: program,
    config: { Entrypoint: [`/${file}`], ...config },
  })
}

/** An image of Debian packages with all they depend on. @throws Error if they cannot be had */
export async function packageImage(image: PackageImage, search: ToolSearch): Promise<Image> {
  const { name, packages, layers = [], key: version, config } = image
  const request = { name: fileNameOf(name), packages: [...packages, 'libc-bin', 'base-files'] }
  const root = await unpackedPackages({ ...request, dependencies: 'all' }, search)
  // The contents of the caller's folder may have changed since last time.
  const key = layers.length === 0 || version !== undefined ? { key: `${root} ${version ?? ''}` } : {}
  const environment = { Env: [PATH, ...(config.Env ?? [])] }
  return makeImage({ name, layers: [root, ...layers], ...key, config: { ...config, ...environment } })
}

/** Puts images into the registry of a node. In a process of its own, for sockets belong to the network of the process that makes them. */
export async function pushInto({ inNetwork }: Pick<Namespaces, 'inNetwork'>, images: readonly Image[]): Promise<void> {
  const script = join(import.meta.dirname, 'push.ts')
  const [command = '', ...args] = inNetwork([process.execPath, script])
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000)
  })
  child.stdin.end(JSON.stringify({ registry: `http://${WRITABLE_REGISTRY}`, images }))
  const code = await new Promise<number | null>((done, failed) => child.once('error', failed).once('close', done))
  if (code !== 0) throw new Error(`Images could not be put into the registry of the node:\n${output.trim()}`)
}
