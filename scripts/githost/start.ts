import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readOrCreate, writePrivate } from '../controlplane/files.ts'
import type { GitHostProgram } from './find.ts'
import { settingsOf } from './settings.ts'

export type GitHost = {
  url: string
  /** Path of a file with its administrator's token. */
  tokenFile: string
}

export type GitHostPlace = {
  /** The data folder; the host's own files are in `githost` in it. */
  folder: string
  /** The host in repository addresses; with one other than this machine's, it listens on all interfaces. */
  address: string
  port: number
  certificate: { certPem: string; keyPem: string }
}

type Start = (process: {
  name: string
  program: string
  args: readonly string[]
  environment: NodeJS.ProcessEnv
}) => unknown

const LOOPBACK = '127.0.0.1'
const ADMINISTRATOR = 'freehold-admin'

/**
 * Prepares Gitea in a folder of its own and starts it. A command creates its administrator before it runs. It answers
 * shortly after; only its callers wait for that.
 */
export async function startGitHost(
  { program, assets }: GitHostProgram,
  { folder, address, port, certificate }: GitHostPlace,
  start: Start,
): Promise<GitHost> {
  const data = join(folder, 'githost')
  await mkdir(data, { recursive: true, mode: 0o700 })
  const inData = (name: string) => join(data, name)
  const random = (name: string) => readOrCreate(inData(name), () => randomBytes(32).toString('hex'))
  await writePrivate(inData('tls.crt'), certificate.certPem)
  await writePrivate(inData('tls.key'), certificate.keyPem)
  const url = `https://${address}:${port}`
  const listensOn = address === LOOPBACK ? LOOPBACK : '0.0.0.0'
  const [secretKey, internalToken] = [await random('secret-key'), await random('internal-token')]
  const user = userInfo().username
  await writePrivate(
    inData('app.ini'),
    settingsOf({ home: data, assets, listensOn, port, url, secretKey, internalToken, user }),
  )
  const environment = { PATH: process.env.PATH, HOME: data, USER: user }
  const run = async (...args: string[]) =>
    (
      await promisify(execFile)(program, ['--config', inData('app.ini'), '--work-path', data, ...args], {
        env: environment,
      })
    ).stdout
  const tokenFile = inData('token')
  await run('migrate')
  await readOrCreate(tokenFile, async () => {
    const account = ['--username', ADMINISTRATOR, '--email', 'admin@circuit.invalid', '--random-password']
    await run('admin', 'user', 'create', '--admin', '--must-change-password=false', ...account).catch(() => '')
    const scopes = ['--scopes', 'write:admin,write:user', '--token-name', `start-${randomBytes(4).toString('hex')}`]
    const token = await run('admin', 'user', 'generate-access-token', '--username', ADMINISTRATOR, '--raw', ...scopes)
    return token.trim().split('\n').at(-1) ?? ''
  })
  const args = ['--config', inData('app.ini'), '--work-path', data, 'web']
  start({ name: 'githost', program, args, environment })
  return { url, tokenFile }
}
