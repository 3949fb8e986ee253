import { type ChildProcess, spawn } from 'node:child_process'
import { PATIENCE } from '../make/until.ts'

/** Shells as people use them, without their own startup files: interactive zsh does not accept comments. */
export const SHELLS = {
  bash: ['--norc', '--noprofile', '-i'],
  zsh: ['-f', '-i', '-o', 'no_zle', '-o', 'no_prompt_sp'],
} as const
export type ShellName = keyof typeof SHELLS

export type Pasted = { output: string; failures: string[] }

const DONE = 'end-of-what-was-pasted'
const FAILED = 'a-command-failed'
/** The line that marks the end of a paste, as echoed by the shell, and as printed. */
const ECHOED = new RegExp(`(echo )?${DONE}(; .*)?`, 'g')
/** A first start of the platform, on a busy machine. */
const DEADLINE = 5 * PATIENCE

/**
 * A shell into which text is pasted: the commands are in its standard input, where a command that reads would consume
 * the next one.
 */
export class PastedShell {
  readonly #child: ChildProcess
  readonly #name: ShellName
  #out = ''
  #err = ''
  #wake: () => void = () => undefined

  constructor(name: ShellName, cwd: string, environment: NodeJS.ProcessEnv) {
    this.#name = name
    const env = { ...environment, PS1: '', PS2: '', HISTFILE: '' }
    this.#child = spawn(name, SHELLS[name], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stdout?.on('data', (part) => this.#heard('out', String(part)))
    this.#child.stderr?.on('data', (part) => this.#heard('err', String(part)))
    this.#child.on('exit', () => this.#wake())
    this.#child.stdin?.write(`PS1='' PS2=''\ntrap 'echo ${FAILED} $?' ERR\n`)
  }

  /** @throws Error when the shell ends, or a command reads on after the last line */
  async paste(text: string): Promise<Pasted> {
    const from = { out: this.#out.length, err: this.#err.length }
    this.#child.stdin?.write(`${text}\necho ${DONE}; echo ${DONE} >&2\n`)
    await this.#until(() => this.#out.includes(DONE, from.out) && this.#err.includes(DONE, from.err), text)
    const [out, err] = [this.#out.slice(from.out), this.#err.slice(from.err)]
    const lines = `${out}\n${err}`.replaceAll(ECHOED, '').split('\n')
    return {
      output: lines.filter((line) => !line.startsWith(FAILED)).join('\n'),
      failures: lines.filter((line) => line.startsWith(FAILED) || line.startsWith(`${this.#name}: parse error`)),
    }
  }

  end(): void {
    this.#child.stdin?.end()
  }

  #heard(stream: 'out' | 'err', text: string): void {
    if (stream === 'out') this.#out += text
    else this.#err += text
    this.#wake()
  }

  async #until(isReached: () => boolean, text: string): Promise<void> {
    const deadline = performance.now() + DEADLINE
    while (!isReached()) {
      const left = deadline - performance.now()
      if (left <= 0 || this.#child.exitCode !== null) {
        throw new Error(
          `${this.#name} did not come to the end of:\n${text}\n${this.#out.slice(-2000)}${this.#err.slice(-2000)}`,
        )
      }
      await new Promise<void>((done) => {
        const timer = setTimeout(done, left)
        this.#wake = () => {
          clearTimeout(timer)
          done()
        }
      })
    }
  }
}
