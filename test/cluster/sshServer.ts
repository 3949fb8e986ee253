import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chown, cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePorts } from '../../scripts/controlplane/ports.ts'
import { endedBy } from '../make/ownProcess.ts'
import { until } from '../make/until.ts'
import { debianIsMissing, folderOnPath, unpackDebian } from './debian.ts'

/** nss_wrapper gives sshd an account `git` that the machine does not have. */
const PACKAGES = ['openssh-server', 'libwrap0', 'libnss-wrapper']
/** The user of sshd if a test is root: as root it would require an account of its own. */
const NOBODY = 65_534

/** Why a real sshd cannot be had here; undefined if it can. */
function sshServerIsMissing(): string | undefined {
  for (const program of ['git', 'git-shell', 'ssh', 'ssh-keygen'])
    if (folderOnPath(program) === undefined) return `${program} is not installed`
  return debianIsMissing('openssh-server')
}

/** A key pair by ssh-keygen. One round of key derivation is enough, because the passphrase is not secret. */
export function makeKey(folder: string, name: string, words: readonly string[] = ['-t', 'ed25519'], passphrase = '') {
  const file = join(folder, name)
  spawnSync('ssh-keygen', ['-q', '-a', '1', ...words, '-N', passphrase, '-C', name, '-f', file])
  return file
}

/** A real sshd on loopback, in front of git-shell: the account `git` has the repositories of one folder. */
export class SshServer {
  readonly folder: string
  readonly port: number
  #process: ChildProcess | undefined
  log = ''

  private constructor(folder: string, port: number) {
    this.folder = folder
    this.port = port
  }

  /** Starts it before the tests of a suite, which are skipped if sshd is unavailable. */
  static async startOrSkip(suite: Mocha.Context, port?: number): Promise<SshServer> {
    const why = sshServerIsMissing()
    if (why === undefined) return SshServer.start(port)
    console.log(`    skipped: ${why}`)
    return suite.skip()
  }

  /** @param port its listener; a free one if absent */
  static async start(port?: number): Promise<SshServer> {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-sshd-'))
    const root = await unpackDebian('openssh-server', PACKAGES)
    const server = new SshServer(folder, port ?? (await choosePorts(folder, ['ssh'])).ssh)
    // Other users cannot read the cache.
    await cp(join(root, 'usr/sbin/sshd'), join(folder, 'sshd'))
    await cp(libraries(root), join(folder, 'lib'), { recursive: true, verbatimSymlinks: true })
    await server.renewHostKeys()
    await writeFile(join(folder, 'authorized'), '')
    execFileSync('git', ['init', '-q', '--bare', '--initial-branch=trunk', join(folder, 'shop.git')])
    const work = join(folder, 'work')
    const git = (...words: string[]) =>
      execFileSync('git', ['-C', work, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...words])
    execFileSync('git', ['init', '-q', '--initial-branch=trunk', work])
    await writeFile(join(work, 'package.json'), '{"scripts":{"start":"node ."}}')
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    git('push', '-q', join(folder, 'shop.git'), 'trunk')
    await server.run()
    return server
  }

  url(repository = 'shop.git', user = 'git@'): string {
    return `ssh://${user}127.0.0.1:${this.port}${join(this.folder, repository)}`
  }

  /** Admits the holder of the private key in the file. */
  async authorize(...files: readonly string[]): Promise<void> {
    const lines = await Promise.all(files.map((file) => readFile(`${file}.pub`, 'utf8')))
    await writeFile(join(this.folder, 'authorized'), lines.join(''))
  }

  /** Replaces the host keys, as a man in the middle would; effective at the next start. */
  async renewHostKeys(): Promise<void> {
    for (const type of ['ed25519', 'rsa', 'ecdsa']) {
      await rm(join(this.folder, type), { force: true })
      // A longer key of RSA takes up to a second to find.
      makeKey(this.folder, type, ['-t', type, ...(type === 'rsa' ? ['-b', '2048'] : [])])
    }
  }

  /** Lines of known_hosts, as ssh-keyscan says them. */
  async knownHosts(): Promise<string> {
    const lines = ['ed25519', 'rsa', 'ecdsa'].map(async (type) => {
      const [kind, key] = (await readFile(join(this.folder, `${type}.pub`), 'utf8')).split(' ')
      return `[127.0.0.1]:${this.port} ${kind} ${key}\n`
    })
    return (await Promise.all(lines)).join('')
  }

  async run(): Promise<void> {
    const { folder, port } = this
    const isRoot = process.getuid?.() === 0
    const [uid, gid] = isRoot ? [NOBODY, NOBODY] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0]
    await writeFile(join(folder, 'passwd'), `git:x:${uid}:${gid}::${folder}:${shell()}\n`)
    await writeFile(join(folder, 'group'), `git:x:${gid}:\n`)
    await writeFile(join(folder, 'sshd_config'), configuration(folder, port))
    if (isRoot) await giveTo(folder, uid, gid)
    const env = {
      PATH: process.env.PATH,
      LD_LIBRARY_PATH: join(folder, 'lib'),
      LD_PRELOAD: join(folder, 'lib/libnss_wrapper.so'),
      NSS_WRAPPER_PASSWD: join(folder, 'passwd'),
      NSS_WRAPPER_GROUP: join(folder, 'group'),
    }
    const child = spawn(join(folder, 'sshd'), ['-D', '-e', '-f', join(folder, 'sshd_config')], {
      env,
      ...(isRoot && { uid, gid }),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr.on('data', (text: Buffer) => {
      this.log += text
    })
    this.#process = child
    await until('sshd listens', async () => {
      if (child.exitCode !== null) throw new Error(`sshd ended: ${this.log}`)
      return listens(port)
    })
  }

  async halt(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child !== undefined) await endedBy(child)
  }

  async stop(): Promise<void> {
    await this.halt()
    await rm(this.folder, { recursive: true, force: true })
  }
}

function configuration(folder: string, port: number): string {
  return `ListenAddress 127.0.0.1
Port ${port}
HostKey ${folder}/ed25519
HostKey ${folder}/rsa
HostKey ${folder}/ecdsa
AuthorizedKeysFile ${folder}/authorized
UsePAM no
StrictModes no
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
AcceptEnv GIT_PROTOCOL
`
}

const libraries = (root: string) =>
  join(root, 'usr/lib', `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`)

const shell = () => join(folderOnPath('git-shell') ?? '', 'git-shell')

async function giveTo(place: string, uid: number, gid: number): Promise<void> {
  const all = await readdir(place, { recursive: true })
  for (const file of ['', ...all]) await chown(join(place, file), uid, gid)
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    const answer = (is: boolean) => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', () => answer(true)).once('error', () => answer(false))
  })
}
