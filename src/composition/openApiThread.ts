import { parentPort } from 'node:worker_threads'
import { wholeOpenApiDocument } from '../api/index.ts'

parentPort?.postMessage(JSON.stringify(wholeOpenApiDocument()))
