import { Worker } from 'node:worker_threads'

/** Builds the complete OpenAPI document as text, on a thread of its own. */
export function readOpenApi(): Promise<string> {
  return new Promise((done, fail) => {
    const worker = new Worker(new URL('./openApiThread.ts', import.meta.url))
    worker.once('message', (text: string) => done(text))
    worker.once('error', fail)
    worker.once('exit', (code) =>
      fail(new Error(`The OpenAPI document was not created: its thread ended with ${code}.`)),
    )
  })
}
