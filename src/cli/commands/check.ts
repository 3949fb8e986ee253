import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { Command } from '../command.ts'
import { CommandFailure, EXIT, localTrouble } from '../failure.ts'
import { isOfKubectl, troubleOf } from './kubectlTrouble.ts'

/** The entry of the image, which holds no shell. */
const PROGRAM = ['/nodejs/bin/node', 'src/main.ts', '--role=facade', '--check']

export const check: Command = {
  name: 'check',
  summary: 'Look whether an installation is whole: what is missing, and what to do about it',
  options: [
    {
      long: 'kubeconfig',
      value: 'FILE',
      summary: 'Of an administrator of the cluster; what kubectl uses where absent',
    },
    { long: 'context', value: 'NAME', summary: 'Context of it' },
  ],
  details:
    'It asks a facade that runs in the cluster, by `kubectl exec`, to look at the API server, the kinds, the webhook, the\nidentity provider, the engines and the systems of its configuration. Nothing is changed.',
  async run(input, { terminal, signal, environment }) {
    const places = ['kubeconfig', 'context'].flatMap((name) => {
      const value = input.text(name)
      return value === undefined ? [] : [`--${name}=${value}`]
    })
    const facade = [
      'exec',
      '--namespace',
      SYSTEM_NAMESPACE,
      'deployment/freehold-facade',
      '--container',
      'facade',
      '--',
    ]
    const words = [...places, ...facade, ...PROGRAM]
    const child = spawn('kubectl', words, { env: environment, signal })
    const ofKubectl: string[] = []
    child.stdout.on('data', (part) => terminal.out(String(part)))
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (isOfKubectl(line)) ofKubectl.push(line)
      else terminal.err(`${line}\n`)
    })
    const code = await new Promise<number | null>((ended, failed) => {
      child.on('error', (error) => failed(localTrouble('kubectl could not be started: put it on the PATH.', error)))
      child.on('close', ended)
    })
    if (code === 0) return
    const trouble = troubleOf(ofKubectl, ['kubectl', ...words].join(' '))
    throw new CommandFailure(EXIT.refused, trouble ?? 'The installation is not whole, or could not be looked at.')
  },
}
