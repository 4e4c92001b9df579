export { estimateTokens } from "./models/text.ts";
export type { BilledTokens, InvoiceLine, InvoiceReport as Invoice } from "./records/invoice.ts";
export type { Hit, RequestReport } from "./records/requests.ts";
export { type ScriptBill, ScriptError, type ScriptResponse, type ScriptRule } from "./script/rule.ts";
export { type Simulator, startSimulator } from "./server.ts";
export type { SimulatorOptions } from "./state.ts";
