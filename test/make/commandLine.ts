import { deriveCollections } from '../../src/cli/collections.ts'
import type { Context, Terminal } from '../../src/cli/command.ts'
import { clientPathsFor } from '../../src/cli/files.ts'

type Given = {
  environment?: Context['environment']
  terminal: Pick<Terminal, 'out' | 'err'> & Partial<Terminal>
}

/** The environment of the command line: files below `home`, and a terminal without input or browser. */
export function commandLine(home: string, { environment = {}, terminal }: Given): Context {
  return {
    environment,
    paths: clientPathsFor({}, home),
    program: ['freehold'],
    terminal: {
      isTerminal: false,
      readInput: () => Promise.resolve(''),
      readPassword: () => Promise.resolve(''),
      ask: undefined,
      openBrowser: undefined,
      outBytes: (bytes) => terminal.out(Buffer.from(bytes).toString('latin1')),
      ...terminal,
    },
    collections: deriveCollections(),
    signal: new AbortController().signal,
    now: Date.now,
  }
}
