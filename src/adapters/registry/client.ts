import { request } from 'undici'
import { z } from 'zod'
import { MANIFEST_TYPES } from '../../contracts/registry/names.ts'
import { readWithin } from '../../core/readWithin.ts'
import { parseForeignJson, tryParseJson } from '../../core/tryParseJson.ts'
import { type ImageRegistry, type RegistryCall, RegistryError, type RegistryManifest } from './port.ts'

/** Returns a token for one repository, or for the catalogue. */
export type TokenFor = (type: 'repository' | 'registry', name: string, actions: readonly string[]) => Promise<string>

export type RegistryClientOptions = {
  /** For example http://127.0.0.1:5000. */
  url: string
  tokenFor: TokenFor
  /** What needs access to the registry's disk; absent if it is on another machine. */
  disk?: Pick<ImageRegistry, 'digests' | 'bytesOf' | 'sweep'> | undefined
}

/** Milliseconds per request. */
const TIMEOUT_MS = 10_000
/** Bytes; the registry itself accepts manifests of up to 4 MiB. */
const ANSWER_MAX_BYTES = 4 * 1024 * 1024
const PAGE_SIZE = 1000
const PAGES_MAX = 1000

/** The form of the registry's own refusals (OCI distribution specification, "Error Codes"). */
const Refusal = z.object({ errors: z.array(z.unknown()) })
const Catalogue = z.object({ repositories: z.array(z.string()).nullish() })
const Tags = z.object({ tags: z.array(z.string()).nullish() })
/** The registry also accepts null for absent fields. */
const optional = <Type extends z.ZodType>(type: Type) => type.nullish().transform((value) => value ?? undefined)
/** Clients write these fields, so an invalid value counts as absent. */
const optionalIfValid = <Type extends z.ZodType>(type: Type) => type.optional().catch(undefined)
const Descriptor = z.object({
  digest: z.string(),
  // Clients write this too: an invalid size counts as 0, so that it does not break the total.
  size: z.int().nonnegative().catch(0),
  platform: optional(z.object({ os: z.string().default(''), architecture: z.string().default('') })),
})
const ManifestDocument = z.object({
  mediaType: optional(z.string()),
  config: optional(Descriptor),
  layers: optional(z.array(Descriptor)),
  manifests: optional(z.array(Descriptor)),
  // The registry does not validate the subject.
  subject: optionalIfValid(Descriptor),
})
const ImageConfiguration = z.object({
  created: optionalIfValid(z.iso.datetime({ offset: true })),
  os: optionalIfValid(z.string()),
  architecture: optionalIfValid(z.string()),
  config: optionalIfValid(z.object({ Labels: z.record(z.string(), z.string()).nullish() })),
})

/** The zero time of Go programs: means that no time was set. */
const ZERO_TIME = '0001-01-01T00:00:00'

type Ask = RegistryCall & { method?: 'GET' | 'HEAD' | 'DELETE'; accept?: string }
type Reply = { status: number; headers: Record<string, unknown>; text: string }

/** Client for a registry with the OCI distribution API. @see https://github.com/opencontainers/distribution-spec */
export function createRegistryClient({ url, tokenFor, disk }: RegistryClientOptions): ImageRegistry {
  async function ask(path: string, token: string, { method = 'GET', accept, signal }: Ask = {}): Promise<Reply> {
    const deadline = AbortSignal.timeout(TIMEOUT_MS)
    try {
      const answer = await request(`${url}/v2/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(accept === undefined ? {} : { accept }) },
        signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
      })
      const text = (await readWithin(ANSWER_MAX_BYTES, answer.body, tooLong)).toString('utf8')
      if (answer.statusCode >= 500 || answer.statusCode === 429) throw unreachable(path)
      return { status: answer.statusCode, headers: answer.headers, text }
    } catch (error) {
      throw error instanceof RegistryError ? error : unreachable(path, error)
    }
  }
  /**
   * Reads from one repository; undefined if not found, in the registry's own words: a load balancer without a registry
   * behind it answers 404 as well, and what is missing counts as untagged or removed.
   */
  async function about(repository: string, path: string, wanted: Ask = {}): Promise<Reply | undefined> {
    const actions = wanted.method === 'DELETE' ? ['delete'] : ['pull']
    const reply = await ask(`${repository}/${path}`, await tokenFor('repository', repository, actions), wanted)
    // The answer to HEAD has no words.
    if (reply.status === 404 && wanted.method === 'HEAD') return about(repository, path, { ...wanted, method: 'GET' })
    if (reply.status === 404 && !Refusal.safeParse(tryParseJson(reply.text)).success) throw unreachable(path)
    if (reply.status === 404) return undefined
    if (reply.status >= 300) throw refused(`${repository}/${path}`, reply.status)
    return reply
  }
  const manifestAsk = { accept: MANIFEST_TYPES }
  return {
    async repositories(folder = '') {
      const token = await tokenFor('registry', 'catalog', ['*'])
      const found: string[] = []
      const isInside = (name: string) => folder === '' || name.startsWith(`${folder}/`)
      for (let page = 0, last = folder; page < PAGES_MAX; page += 1) {
        const after = last === '' ? '' : `&last=${encodeURIComponent(last)}`
        const reply = await ask(`_catalog?n=${PAGE_SIZE}${after}`, token)
        if (reply.status !== 200) throw refused('_catalog', reply.status)
        const repositories = readOwn(Catalogue, reply.text, '_catalog').repositories ?? []
        found.push(...repositories.filter(isInside))
        // Names that begin alike are neighbours in every order, whether `/` or `-` comes first.
        if (repositories.length < PAGE_SIZE || repositories.at(-1)?.startsWith(folder) !== true) break
        last = repositories.at(-1) ?? ''
      }
      return found
    },
    async tags(repository) {
      const { text = '{}' } = (await about(repository, 'tags/list')) ?? {}
      return (readOwn(Tags, text, repository).tags ?? []).sort()
    },
    async manifest(repository, reference, call = {}) {
      const reply = await about(repository, `manifests/${encodeURIComponent(reference)}`, { ...call, ...manifestAsk })
      return reply && manifestOf(reply, repository)
    },
    async digestOf(repository, tag) {
      const reply = await about(repository, `manifests/${encodeURIComponent(tag)}`, { ...manifestAsk, method: 'HEAD' })
      return reply && String(reply.headers['docker-content-digest'])
    },
    async details(repository, configuration, call = {}) {
      const { text = '{}' } = (await about(repository, `blobs/${configuration}`, call)) ?? {}
      const { created, os, architecture, config } = readPushed(ImageConfiguration, text, repository)
      const platform = os ? `${os}/${architecture ?? ''}` : undefined
      return { createdAt: created?.startsWith(ZERO_TIME) ? undefined : created, labels: config?.Labels ?? {}, platform }
    },
    digests: async (repository) => disk?.digests(repository),
    async remove(repository, digest) {
      await about(repository, `manifests/${digest}`, { method: 'DELETE' })
    },
    bytesOf: async (folder) => disk?.bytesOf(folder),
    sweep: async (bounds) => disk?.sweep(bounds),
  }
}

function manifestOf({ headers, text }: Reply, repository: string): RegistryManifest {
  const { mediaType, config, layers = [], manifests = [], subject } = readPushed(ManifestDocument, text, repository)
  const parts = [...(config === undefined ? [] : [config]), ...layers, ...manifests]
  const platforms = manifests.flatMap(({ platform }) =>
    platform === undefined || platform.os === 'unknown' ? [] : [`${platform.os}/${platform.architecture}`],
  )
  return {
    digest: String(headers['docker-content-digest']),
    mediaType: mediaType ?? String(headers['content-type']),
    sizeBytes: parts.reduce((sum, { size }) => sum + size, Buffer.byteLength(text)),
    references: manifests.map(({ digest }) => digest),
    subject: subject?.digest,
    platforms: [...new Set(platforms)],
    configuration: config?.digest,
  }
}

/** Parses the registry's own data, of any size. */
const readOwn = <Schema extends z.ZodType>(schema: Schema, text: string, what: string) =>
  read(schema, tryParseJson(text), what)
/** Parses data that clients pushed, within bounds. */
const readPushed = <Schema extends z.ZodType>(schema: Schema, text: string, what: string) =>
  read(schema, parseForeignJson(text), what)

function read<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new RegistryError('Unreadable', `The answer of the registry about ${what} cannot be read.`, parsed.error)
}

const tooLong = () => new RegistryError('Unreadable', 'The registry answered with too many bytes.')

const unreachable = (path: string, cause?: unknown) =>
  new RegistryError('Unreachable', `The registry did not answer a request for ${path}.`, cause)
const refused = (path: string, status: number) =>
  new RegistryError('Refused', `The registry answered with status ${status} about ${path}.`)
