import { connect, isIP, type Socket } from 'node:net'
import type { Client, ClientChannel, ConnectConfig, ServerHostKeyAlgorithm } from 'ssh2'
import { hostKeysIn, knownHostsOf } from '../../contracts/sources/hostKeys.ts'
import { CREDENTIAL_KEYS } from '../../contracts/sources/providers.ts'
import type { ResolveAddresses } from '../outgoing/addresses.ts'
import { throwSourceError } from './calls.ts'
import { type Connection, SourceError } from './port.ts'
import { readPrivateKey } from './privateKey.ts'

/** The first line of the ref advertisement, and the host key in the form `ssh-ed25519 AAAA...`. */
export type RefAdvertisement = { readonly firstLine: string; readonly hostKey: string }

/** Milliseconds for the whole exchange. */
const TIMEOUT_MS = 10_000

/**
 * Connects over ssh as `git fetch` would, and closes after the first line of the answer. The name is resolved only
 * once, so that the connection goes to an address that was vetted.
 *
 * @throws SourceError HostKeyRefused if the host shows an unknown key
 */
export async function readAdvertisementOverSsh(
  addressesOf: ResolveAddresses,
  connection: Connection,
  signal?: AbortSignal,
): Promise<RefAdvertisement> {
  const privateKey = await readPrivateKey(connection.credentials[CREDENTIAL_KEYS.privateKey] ?? '')
  const addresses = await addressesOf(connection.baseUrl).catch(throwSourceError)
  const url = new URL(connection.baseUrl)
  const { default: ssh2 } = await import('ssh2')
  const client = new ssh2.Client()
  const deadline = AbortSignal.timeout(TIMEOUT_MS)
  const ended = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
  const sock = socketTo(url, addresses)
  const stop = () => sock.destroy(new Error('It took too long.'))
  ended.addEventListener('abort', stop)
  // The signal may have fired during name resolution: there will be no further abort event.
  if (ended.aborted) stop()
  try {
    return await fetchRefs(client, url, { ...checkHost(connection), sock, privateKey })
  } finally {
    ended.removeEventListener('abort', stop)
    client.destroy()
    sock.destroy()
  }
}

function socketTo({ hostname, port }: URL, addresses: readonly string[]): Socket {
  const all = addresses.map((address) => ({ address, family: isIP(address) }))
  return connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 22 : Number(port),
    autoSelectFamily: true,
    lookup: (_host, _options, callback) => callback(null, all),
  })
}

/** Options that verify the host key, and the results. */
type HostCheck = Pick<ConnectConfig, 'hostVerifier' | 'algorithms'> & {
  presentedHostKey: () => string
  isRefused: () => boolean
}

function checkHost(connection: Connection): HostCheck {
  const knownHosts = knownHostsOf(connection)
  const known = knownHosts === undefined ? undefined : hostKeysIn(knownHosts, connection.baseUrl)
  let [presentedHostKey, isRefused] = ['', known?.length === 0]
  return {
    hostVerifier: (key: Buffer) => {
      presentedHostKey = `${key.subarray(4, 4 + key.readUInt32BE(0)).toString()} ${key.toString('base64')}`
      isRefused = known !== undefined && !known.includes(presentedHostKey)
      return !isRefused
    },
    // A host has keys of several types: ask for a type that is known.
    ...(known !== undefined && known.length > 0 && { algorithms: { serverHostKey: known.flatMap(algorithmsOf) } }),
    presentedHostKey: () => presentedHostKey,
    isRefused: () => isRefused || (known !== undefined && presentedHostKey === ''),
  }
}

function algorithmsOf(key: string): ServerHostKeyAlgorithm[] {
  const [type = ''] = key.split(' ')
  return type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : [type as ServerHostKeyAlgorithm]
}

type Session = HostCheck & Pick<ConnectConfig, 'sock' | 'privateKey'>

function fetchRefs(
  client: Client,
  url: URL,
  { presentedHostKey, isRefused, ...options }: Session,
): Promise<RefAdvertisement> {
  const { host } = url
  const username = decodeURIComponent(url.username) || 'git'
  return new Promise((resolve, reject) => {
    const unreachable = (cause: unknown) =>
      reject(new SourceError('Unreachable', `${host} does not answer as an ssh server does.`, cause))
    client
      .once('ready', () => {
        client.exec(`git-upload-pack ${quotePath(url)}`, (error, channel) => {
          if (error) unreachable(error)
          else
            firstLineOf(channel, host).then((firstLine) => resolve({ firstLine, hostKey: presentedHostKey() }), reject)
        })
      })
      .on('error', (error) => {
        const message = `${host} does not accept this key: add its public half there, for example as a deploy key.`
        if (error.level === 'client-authentication') reject(new SourceError('CredentialRejected', message))
        else if (error.level === 'client-socket' || !isRefused()) unreachable(error)
        else reject(hostKeyRefused(host))
      })
      .once('close', () => unreachable(new Error('The connection ended.')))
      .connect({ ...options, username, readyTimeout: TIMEOUT_MS, authHandler: ['publickey'] })
  })
}

function hostKeyRefused(host: string): SourceError {
  return new SourceError(
    'HostKeyRefused',
    `${host} shows another host key than the known one. If that is right, put its lines of ssh-keyscan into the Secret of the source as known-hosts, or create the source again.`,
  )
}

/** Quotes a path like git, for the shell on the host. */
function quotePath({ pathname }: URL): string {
  const path = decodeURIComponent(pathname).replace(/^\/~/, '~')
  return `'${path.replaceAll(/['!]/g, "'\\$&'")}'`
}

/** A line begins with its length in hex (gitprotocol-common); an empty repository answers 0000. */
const LINE = /^(?:0000|([0-9a-f]{4})[0-9a-f]{40,64} )/

/** Characters of the longest line that four hex digits can express. */
const LINE_MAX_LENGTH = 0xffff

/** @throws SourceError NotFound */
async function firstLineOf(channel: ClientChannel, host: string): Promise<string> {
  let line = ''
  channel.stderr.resume()
  for await (const chunk of channel) {
    line += String(chunk)
    const [start, length = '0'] = LINE.exec(line) ?? []
    if (start !== undefined && line.length >= Number.parseInt(length, 16)) return line
    if (line.length > LINE_MAX_LENGTH) break
  }
  throw new SourceError('NotFound', `${host} has no Git repository at this address, or hides it from this key.`)
}
