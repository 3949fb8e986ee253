import { runInSlices } from '../../core/slices.ts'
import { OutgoingError, type OutgoingFetch, type OutgoingRequest } from '../outgoing/port.ts'
import { PackTooLarge, readPack } from './pack.ts'
import { DELIM_PKT, decodePktText, encodePktLine, FLUSH_PKT, parsePktLines } from './pktLine.ts'
import { GIT_LIMITS, type GitFile, type GitFiles, GitFilesError, type GitLocation } from './port.ts'
import { listFilesOfCommit, readFilesOfCommit, readFileTexts } from './tree.ts'

const PROTOCOL = { 'git-protocol': 'version=2' }
const COMMON_CAPABILITIES = ['agent=freehold', 'object-format=sha1']
const DATA_BAND = 1

/**
 * Reads files of one commit over https, with version 2 of the Git protocol (gitprotocol-v2): without history, and
 * without unwanted files if the host supports filters.
 *
 * @param fetch checks each address against the rules for outgoing calls, and bounds the answers
 */
export function gitFiles(fetch: OutgoingFetch): GitFiles {
  return {
    async read(place, known) {
      try {
        const session = sessionAt(fetch, place)
        const canFilter = await session.open()
        const revision = commitOf(await session.references(), place)
        if (revision === known) return { revision, files: undefined }
        const narrow = canFilter ? await fetchWanted(session, revision, place.path) : undefined
        return { revision, files: narrow ?? (await fetchAll(session, revision, place.path, canFilter)) }
      } catch (error) {
        throw gitFilesError(error, hostOf(place.url))
      }
    },
  }
}

/**
 * Fetches the trees first, then the wanted blobs. Blobs are sent whatever their size, and some hosts do not serve blobs
 * by id: returns undefined in these cases.
 *
 * @throws GitFilesError; PackTooLarge and RangeError for the trees
 */
async function fetchWanted(session: Session, revision: string, path: string): Promise<GitFile[] | undefined> {
  const trees = await readPack(await session.pack([`want ${revision}`, 'deepen 1', 'filter blob:none']))
  const listed = await runInSlices(listFilesOfCommit(trees, revision, path))
  const ids = [...new Set(listed.map(({ id }) => id))]
  const texts = ids.length === 0 ? new Map() : await textsById(session, ids)
  return texts === undefined ? undefined : readFileTexts(listed, texts)
}

async function textsById(session: Session, ids: readonly string[]) {
  try {
    const texts = await readPack(await session.pack(ids.map((id) => `want ${id}`)))
    return ids.every((id) => texts.has(id)) ? texts : undefined
  } catch (error) {
    const isRefused = error instanceof GitFilesError && error.reason === 'Unreachable'
    if (isRefused || error instanceof OutgoingError || error instanceof PackTooLarge || error instanceof RangeError)
      return undefined
    throw error
  }
}

/** Fetches the whole commit, without large files if the host supports filters. */
async function fetchAll(session: Session, revision: string, path: string, canFilter: boolean): Promise<GitFile[]> {
  const filter = canFilter ? [`filter blob:limit=${GIT_LIMITS.file + 1}`] : []
  const pack = await session.pack([`want ${revision}`, 'deepen 1', ...filter])
  return runInSlices(readFilesOfCommit(await readPack(pack), revision, path))
}

type Session = ReturnType<typeof sessionAt>

/** Returns the calls to one repository. */
function sessionAt(fetch: OutgoingFetch, { url, ref, authorization }: GitLocation) {
  const base = url.replace(/\/+$/, '')
  const headers = { ...PROTOCOL, ...(authorization !== undefined && { authorization }) }

  async function call(path: string, request?: OutgoingRequest): Promise<Buffer> {
    const options = { ...request, headers: { ...headers, ...request?.headers }, isBinary: true }
    return bytesOf(await fetch(`${base}${path}`, options), hostOf(url))
  }

  function command(name: string, args: readonly string[]): Promise<Buffer> {
    return call('/git-upload-pack', {
      method: 'POST',
      headers: {
        'content-type': 'application/x-git-upload-pack-request',
        accept: 'application/x-git-upload-pack-result',
      },
      body: [
        ...[`command=${name}`, ...COMMON_CAPABILITIES].map(encodePktLine),
        DELIM_PKT,
        ...args.map(encodePktLine),
        FLUSH_PKT,
      ].join(''),
    })
  }

  return {
    /** @returns whether the host supports filters */
    async open(): Promise<boolean> {
      const capabilities = textsIn(await call('/info/refs?service=git-upload-pack'))
      if (!capabilities.includes('version 2'))
        throw new GitFilesError(
          'Unreachable',
          `${hostOf(url)} does not support version 2 of the Git protocol at this address.`,
        )
      return capabilities.some((one) => /^fetch=(.* )?filter( |$)/.test(one))
    },

    /** Returns the commits of the matching refs, by full name. Annotated tags are peeled. */
    async references(): Promise<ReadonlyMap<string, string>> {
      const prefixes = candidates(ref).map((name) => `ref-prefix ${name}`)
      const refs = textsIn(await command('ls-refs', ['peel', ...prefixes]))
      return new Map(
        refs.flatMap((one): [string, string][] => {
          const [, id, name, peeled] = /^([0-9a-f]{40}) (\S+)(?:.* peeled:([0-9a-f]{40}))?/.exec(one) ?? []
          return id === undefined || name === undefined ? [] : [[name, peeled ?? id]]
        }),
      )
    },

    /** @param args arguments of `fetch`: the wanted objects, depth and filter */
    async pack(args: readonly string[]): Promise<Buffer> {
      const chunks: Buffer[] = []
      let isPack = false
      for (const bytes of parsePktLines(await command('fetch', ['no-progress', 'ofs-delta', ...args, 'done']))) {
        if (isPack && bytes[0] === DATA_BAND) chunks.push(bytes.subarray(1))
        isPack ||= decodePktText(bytes) === 'packfile'
      }
      return Buffer.concat(chunks)
    },
  }
}

async function bytesOf(answer: Response, host: string): Promise<Buffer> {
  const { status } = answer
  if (status === 200) return Buffer.from(await answer.arrayBuffer())
  if (status === 401 || status === 403 || status === 404)
    throw new GitFilesError('NotFound', `${host} has no such repository, or the credential may not read it.`)
  if (status >= 300 && status < 400)
    throw new GitFilesError('NotFound', `${host} has the repository at another address: often it ends in ".git".`)
  throw new GitFilesError('Unreachable', `${host} answered with status ${status}.`)
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? ''

const textsIn = (bytes: Buffer): string[] => [...parsePktLines(bytes)].map(decodePktText)

const candidates = (ref: string): string[] =>
  ref.startsWith('refs/') ? [ref] : [`refs/heads/${ref}`, `refs/tags/${ref}`]

function commitOf(found: ReadonlyMap<string, string>, { ref }: GitLocation): string {
  for (const name of candidates(ref)) {
    const commit = found.get(name)
    if (commit !== undefined) return commit
  }
  throw new GitFilesError('NotFound', `The repository has no branch or tag "${ref}".`)
}

function gitFilesError(error: unknown, host: string): GitFilesError {
  if (error instanceof GitFilesError) return error
  if (error instanceof OutgoingError) return new GitFilesError(error.reason, error.message, error)
  if (error instanceof PackTooLarge) {
    const message = 'The repository is too large: keep templates in one of their own.'
    return new GitFilesError('TooLarge', message, error)
  }
  return new GitFilesError('Unreachable', `${host} gives an answer that is not valid Git.`, error)
}
