import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import { type Streams, terminalOf } from './terminal.ts'

const CTRL_C = '\x03'
const CTRL_D = '\x04'

/** Opens a terminal, and what a person does at it. */
function openTerminal({ isTTY = true } = {}) {
  const interruption = new AbortController()
  const stream = () => Object.assign(new PassThrough(), { isTTY })
  const streams = { stdin: stream(), stdout: stream(), stderr: stream() } satisfies Streams
  return {
    terminal: terminalOf({}, streams, interruption),
    interruption,
    type: (text: string) => void streams.stdin.write(text),
    end: () => void streams.stdin.end(),
    shown: () => String(streams.stderr.read() ?? ''),
  }
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect.fail(`it returned ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
}

describe('terminalOf', () => {
  const prompts = {
    ask: ({ terminal }: ReturnType<typeof openTerminal>) => terminal.ask?.('Name? ') ?? expect.fail('no question'),
    readPassword: ({ terminal }: ReturnType<typeof openTerminal>) => terminal.readPassword('Password: '),
  }
  for (const [name, prompt] of Object.entries(prompts)) {
    it(`${name} returns the line that was typed`, async () => {
      const opened = openTerminal()
      const answer = prompt(opened)
      opened.type('correct horse\n')
      expect(await answer).to.equal('correct horse')
    })

    it(`${name} is interrupted by Ctrl-C`, async () => {
      const opened = openTerminal()
      const answer = prompt(opened)
      opened.type(CTRL_C)
      expect(await failureOf(answer)).to.equal(opened.interruption.signal.reason)
      expect(opened.interruption.signal.aborted).to.equal(true)
    })

    it(`${name} is interrupted by a signal`, async () => {
      const opened = openTerminal()
      const answer = prompt(opened)
      opened.interruption.abort(new Error('Interrupted.'))
      expect(await failureOf(answer)).to.equal(opened.interruption.signal.reason)
    })

    it(`${name} takes Ctrl-D for an empty answer`, async () => {
      const opened = openTerminal()
      const answer = prompt(opened)
      opened.type(CTRL_D)
      expect(await answer).to.equal('')
    })
  }

  it('does not show a password', async () => {
    const opened = openTerminal()
    const answer = opened.terminal.readPassword('Password: ')
    opened.type('secret\n')
    await answer
    expect(opened.shown()).to.equal('Password: \n')
  })

  it('reads the input until its end', async () => {
    const opened = openTerminal({ isTTY: false })
    const input = opened.terminal.readInput()
    opened.type('{}')
    opened.type(' ')
    opened.end()
    expect(await input).to.equal('{} ')
  })

  it('stops reading the input when it is interrupted', async () => {
    const opened = openTerminal()
    const input = opened.terminal.readInput()
    opened.interruption.abort(new Error('Interrupted.'))
    expect(await failureOf(input)).to.be.instanceOf(Error)
  })

  it('takes the first line of what is no terminal for the password, and asks nothing', async () => {
    const opened = openTerminal({ isTTY: false })
    const password = opened.terminal.readPassword('Password: ')
    opened.type('first\nsecond\n')
    opened.end()
    expect(await password).to.equal('first')
    expect(opened.terminal.ask).to.equal(undefined)
  })
})
