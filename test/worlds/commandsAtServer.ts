import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../src/cli/run.ts'
import { commandLine } from '../make/commandLine.ts'

type Options = {
  token?: string
  /** Options of `setup` beside the two addresses. */
  setup?: (url: string) => readonly string[]
  readPassword?: () => Promise<string>
}

/** The command line in this process, in its own home, set up for a server that a test simulates. */
export class CommandsAtServer {
  readonly home: string
  /** What the last command wrote. */
  said = ''
  readonly #server: Server
  readonly #options: Options

  private constructor(home: string, server: Server, options: Options) {
    this.home = home
    this.#server = server
    this.#options = options
  }

  /** @throws Error with the output if it cannot be set up */
  static async start(listener: RequestListener, options: Options = {}): Promise<CommandsAtServer> {
    const server = createServer(listener)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const commands = new CommandsAtServer(await mkdtemp(join(tmpdir(), 'freehold-commands-')), server, options)
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const addresses = ['--facade-url', url, '--issuer', 'http://127.0.0.1:1/realms/x']
    if ((await commands.freehold('setup', ...addresses, ...(options.setup?.(url) ?? []))) === 0) return commands
    await commands.stop()
    throw new Error(commands.said)
  }

  /** @returns the exit code */
  freehold(...words: string[]): Promise<number> {
    return this.#run(words, false)
  }

  /** The same with a terminal as stdout. */
  atTerminal(...words: string[]): Promise<number> {
    return this.#run(words, true)
  }

  #run(words: readonly string[], isTerminal: boolean): Promise<number> {
    this.said = ''
    const say = (text: string) => {
      this.said += text
    }
    const { token = 'a-token', readPassword } = this.#options
    const terminal = { out: say, err: say, isTerminal, ...(readPassword && { readPassword }) }
    return run(words, commandLine(this.home, { environment: { PLATFORM_TOKEN: token }, terminal }))
  }

  async stop(): Promise<void> {
    this.#server.close()
    await rm(this.home, { recursive: true })
  }
}
