/** Gemini CLI, the shipped program, with a scripted model: what the model is shown of mcpx. */
import { describeClient } from './journey.ts';
import { geminiCli } from './programs.ts';

describeClient(geminiCli);
