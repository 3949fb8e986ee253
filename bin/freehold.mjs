#!/usr/bin/env node
// The command `freehold`. Plain JavaScript for any Node from 18 on: the sources run as they are under Node 24, which
// is one of the installed packages.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR = 24
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const main = join(root, 'src', 'cli', 'main.ts')

if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) {
  module.enableCompileCache?.()
  await import(main)
} else {
  run(findNode())
}

function findNode() {
  const own = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(own)) {
    const { stdout } = spawnSync(own, ['--version'], { encoding: 'utf8' })
    if (Number(/^v(\d+)\./.exec(stdout || '')?.[1] || 0) >= NODE_MAJOR) return own
  }
  process.stderr.write(
    `freehold needs Node ${NODE_MAJOR} or newer and this is ${process.version}: run \`npm ci\` in ${root}, which brings one.\n`,
  )
  process.exit(5)
}

function run(node) {
  // This file again: it keeps what was compiled, so that the next command starts in half the time.
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`${node} did not start: ${error.message}\n`)
    process.exitCode = 5
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + ({ SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[signal] || 0)
  })
}
