import { z } from 'zod'
import { isBearerChallenge, parseTokenUrl, TokenAnswer } from '../../contracts/registry/tokens.ts'
import { sha256 } from '../../core/names.ts'
import { parseForeignJson } from '../../core/tryParseJson.ts'
import { OutgoingError, type OutgoingFetch } from '../outgoing/port.ts'
import { FeedError, type FeedRelease, type ReleaseFeed } from './port.ts'
import { versionsAmong } from './versions.ts'

export type ReleaseFeedOptions = {
  /** Calls registries that component declarations name. */
  fetch: OutgoingFetch
  /** A registry that replaces all others, and how to call it. */
  mirror?: { url: string; fetch: OutgoingFetch } | undefined
}

const PAGE_SIZE = 1000
const PAGES_MAX = 20
const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json'
const CHART_CONFIG_TYPE = 'application/vnd.cncf.helm.config.v1+json'

const Tags = z.object({ tags: z.array(z.string()).nullish() })
const Manifest = z.object({
  config: z.object({ mediaType: z.string() }),
  annotations: z.record(z.string(), z.string()).optional(),
})

type Place = { base: string; host: string; repository: string; fetch: OutgoingFetch }
type Reply = { status: number; headers: Headers; text: string }

/** Reads OCI registries anonymously. @see https://github.com/opencontainers/distribution-spec */
export function createReleaseFeed({ fetch, mirror }: ReleaseFeedOptions): ReleaseFeed {
  function locate(url: string) {
    if (mirror === undefined) return { url, isInsecure: false }
    const { host, pathname, protocol } = new URL(mirror.url)
    const path = pathname.replace(/\/+$/, '')
    return { url: `oci://${host}${path}/${url.split('/').at(-1)}`, isInsecure: protocol === 'http:' }
  }
  function placeOf(url: string): Place {
    const [, host = '', repository = ''] = /^oci:\/\/([^/]+)\/(.+)$/.exec(locate(url).url) ?? []
    if (mirror === undefined) return { base: `https://${host}/v2/${repository}`, host, repository, fetch }
    return { base: `${new URL(mirror.url).origin}/v2/${repository}`, host, repository, fetch: mirror.fetch }
  }
  return {
    locate,
    async versions(url) {
      const place = placeOf(url)
      const tags = new Set<string>()
      for (let page = 0, last = ''; page < PAGES_MAX; page += 1) {
        const after = last === '' ? '' : `&last=${encodeURIComponent(last)}`
        const reply = await ask(place, `tags/list?n=${PAGE_SIZE}${after}`)
        const found = reply === undefined ? [] : (read(Tags, reply.text, place).tags ?? [])
        const before = tags.size
        for (const tag of found) tags.add(tag)
        // Registries may return fewer than requested, and some ignore pagination.
        if (tags.size === before) break
        last = found.at(-1) ?? ''
      }
      return versionsAmong(tags)
    },
    async release(url, version): Promise<FeedRelease | undefined> {
      const place = placeOf(url)
      const reply = await ask(place, `manifests/${version}`)
      if (reply === undefined) return undefined
      const { config, annotations = {} } = read(Manifest, reply.text, place)
      if (config.mediaType !== CHART_CONFIG_TYPE) return undefined
      const digest = reply.headers.get('docker-content-digest') ?? `sha256:${sha256(reply.text)}`
      const signature = await ask(place, `manifests/${digest.replace(':', '-')}.sig`)
      return { version, digest, isSigned: signature !== undefined, annotations }
    },
  }
}

/** Returns undefined if not found. @throws FeedError */
async function ask(place: Place, path: string): Promise<Reply | undefined> {
  const first = await send(place, path, {})
  const reply = first.status === 401 ? await sendWithToken(place, path, first) : first
  if (reply.status === 404) return undefined
  if (reply.status === 200) return reply
  if (reply.status === 429 || reply.status >= 500) throw unreachable(place)
  throw new FeedError(
    'Refused',
    `${place.host} does not allow anonymous reads of ${place.repository} (status ${reply.status}).`,
  )
}

async function send(place: Place, path: string, headers: Record<string, string>): Promise<Reply> {
  return call(place, `${place.base}/${path}`, { accept: `${MANIFEST_TYPE}, application/json`, ...headers })
}

async function call(place: Place, url: string, headers: Record<string, string>): Promise<Reply> {
  try {
    const answer = await place.fetch(url, { headers })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error
    if (error.reason === 'NotAllowed') throw new FeedError('Refused', error.message, error)
    throw unreachable(place, error)
  }
}

/** Gets an anonymous token (token authentication of the distribution project). */
async function sendWithToken(place: Place, path: string, { headers }: Reply): Promise<Reply> {
  const challenge = headers.get('www-authenticate') ?? ''
  const realm = isBearerChallenge(challenge) ? parseTokenUrl(challenge, place.repository) : undefined
  const refused = new FeedError('Refused', `${place.host} does not allow anonymous reads of ${place.repository}.`)
  if (realm === undefined) throw refused
  const answer = await call(place, realm, { accept: 'application/json' })
  if (answer.status >= 500) throw unreachable(place)
  if (answer.status !== 200) throw refused
  return send(place, path, { authorization: read(TokenAnswer, answer.text, place) })
}

function read<Schema extends z.ZodType>(schema: Schema, text: string, { host, repository }: Place): z.output<Schema> {
  try {
    return schema.parse(parseForeignJson(text))
  } catch (cause) {
    throw new FeedError('Unreadable', `The answer of ${host} about ${repository} cannot be read.`, cause)
  }
}

const unreachable = ({ host, repository }: Place, cause?: unknown) =>
  new FeedError('Unreachable', `${host} did not answer a request for ${repository}.`, cause)
